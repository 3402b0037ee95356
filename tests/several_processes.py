"""Run a function of a test in several processes of torch.distributed, on this machine and a CPU."""

import os
import socket
import warnings

import torch
from torch import distributed, multiprocessing


def run(function, *args, processes=2):
    """Call ``function(*args)`` in each process; an error in a process is raised here."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    method = "spawn" if torch.cuda.is_available() else "fork"  # which need not load torch again
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of forks beside threads
        multiprocessing.start_processes(
            _begin, (processes, port, function, args), nprocs=processes, start_method=method
        )


def _begin(rank, processes, port, function, args):
    os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    torch.set_num_threads(1)
    distributed.init_process_group("gloo", rank=rank, world_size=processes)
    try:
        function(*args)
    finally:
        distributed.destroy_process_group()
