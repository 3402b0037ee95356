"""Losses as curves: where they peak, how widely they spread, what that means for training, and pictures."""
