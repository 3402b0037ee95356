"""Devices and processes of a run: random state, captured steps, narrow convolutions, torchrun."""
