"""Where Triton is not installed its kernels cannot be imported, and pytest need not try."""

import importlib.util
import signal

KERNELS = ["src/noiseproof/kernels/triton_*.py", "src/noiseproof/kernels/launch*.py"]
collect_ignore_glob = [] if importlib.util.find_spec("triton") else KERNELS

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # jobs in the background of a shell; tests send ctrl-C
    signal.signal(signal.SIGINT, signal.default_int_handler)
