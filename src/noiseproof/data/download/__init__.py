"""Download datasets from their official addresses, and verify them."""
