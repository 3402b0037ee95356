"""Sources of data, one file per kind."""
