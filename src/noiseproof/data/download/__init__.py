"""Downloading datasets from their official addresses, and verifying them."""
