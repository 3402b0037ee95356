"""Training steps on a GPU."""
