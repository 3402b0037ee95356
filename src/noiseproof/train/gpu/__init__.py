"""Training steps on a GPU: captured as CUDA graphs, with fewer and faster kernels."""
