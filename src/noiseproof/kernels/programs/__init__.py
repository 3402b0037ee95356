"""Losses written down as short programs, which kernels run and torch can replay."""
