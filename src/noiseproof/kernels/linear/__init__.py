"""Losses of ``hidden @ weight.T + bias`` whose N x V logits are never stored at once."""
