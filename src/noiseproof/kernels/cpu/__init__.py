"""The compiled operator for CPUs: its C++ source, how it is built and called."""
