"""Losses of ``hidden @ weight.T + bias`` that never store all N x V logits at once."""
