"""Tests are the same every time, whatever the machine; kernels are not imported where Triton is missing."""

import importlib.util
import signal

from hypothesis import settings

settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.register_profile("searching", deadline=None)
settings.load_profile("repeatable")

KERNELS = ["src/noiseproof/kernels/triton/*.py", "tests/kernels/compiling_for_a_gpu.py"]
collect_ignore_glob = [] if importlib.util.find_spec("triton") else KERNELS

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # jobs in the background of a shell; tests send ctrl-C
    signal.signal(signal.SIGINT, signal.default_int_handler)
