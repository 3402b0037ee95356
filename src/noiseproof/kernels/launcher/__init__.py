"""Kernels launched from C++: what a loss did once is done again without Python, where that was built."""
