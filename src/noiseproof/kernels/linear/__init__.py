"""Losses of a linear layer's outputs that are never stored."""
