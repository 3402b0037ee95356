"""Comparisons of several runs: their configs, the processes or threads that train them, their table."""
