"""Puts this folder on the path, so that tests in subfolders find its helpers."""
