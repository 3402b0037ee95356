"""The kernels for CUDA devices, and what launches them; importing a module of it needs triton."""
