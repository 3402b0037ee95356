"""One file per source of data."""
