"""Emphasis curves of losses: statistics such as peak and spread, advice for training, and plots."""
