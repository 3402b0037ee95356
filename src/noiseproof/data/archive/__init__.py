"""Unpacking archives and compressed files from untrusted sources, within limits."""
