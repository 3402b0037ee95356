"""Where Triton is not installed its kernels cannot be imported, and pytest need not try."""

import importlib.util

KERNELS = ["src/noiseproof/kernels/triton_*.py", "src/noiseproof/kernels/launch.py"]
collect_ignore_glob = [] if importlib.util.find_spec("triton") else KERNELS
