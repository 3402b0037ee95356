"""The Slurm script of the documentation, with an ``srun`` that starts both hosts on this machine."""

import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch import distributed

from noiseproof.train import Run, fit

PAGE = Path(__file__).parents[2] / "docs/training_on_several_gpus.md"
SCONTROL = """#!/bin/bash
[ "$*" = "show hostnames hosts[1-2]" ] && printf 'localhost\\nhost2\\n'
"""
SRUN = """#!/bin/bash
[ "$1" = --kill-on-bad-exit ] && shift
"$@" & "$@" && wait $!
"""
TORCHRUN = '#!/bin/bash\nexec "{python}" -m torch.distributed.run "$@"\n'
SMALL = {
    "--nproc-per-node 4": "--nproc-per-node 1",
    "--data cifar10": "--data digits --epochs 5 --device cpu --quiet",
    "--model resnet34": "--model 'mlp(hidden=32)'",
}


def slurm_script():
    """The script of the page with one process per host, data on this machine and a free port."""
    found = re.search(r"```bash\n(#!/bin/bash\n#SBATCH.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    text = found.group(1)
    with socket.create_server(("localhost", 0)) as free:
        changes = {**SMALL, "29500": str(free.getsockname()[1])}
    for old, new in changes.items():
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return text


@pytest.fixture
def job(tmp_path):
    """The command and the environment of a job on two hosts."""
    programs = {"scontrol": SCONTROL, "srun": SRUN, "torchrun": TORCHRUN.format(python=sys.executable)}
    (tmp_path / "bin").mkdir()
    for name, text in programs.items():
        path = tmp_path / "bin" / name
        path.write_text(text)
        path.chmod(0o755)
    (tmp_path / "job.sh").write_text(slurm_script())
    environment = {**os.environ, "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}", "HOME": str(tmp_path)}
    environment |= {"SLURM_JOB_NODELIST": "hosts[1-2]", "SLURM_NNODES": "2", "SLURM_JOB_ID": "7"}
    return ["bash", str(tmp_path / "job.sh")], environment | {"OMP_NUM_THREADS": "1"}


@pytest.mark.slow
@pytest.mark.skipif(not distributed.is_available() or os.name == "nt", reason="there is no gloo")
def test_slurm_script_trains_on_two_hosts(job, tmp_path):
    command, environment = job
    subprocess.run([*command[:1], "-n", *command[1:]], check=True)  # noqa: S603
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)  # noqa: S603
    assert done.returncode == 0, done.stderr
    run = Run(tmp_path / "runs/gce")
    assert (run.finished, len(run.metrics)) == (True, 5)
    one = fit(run.config.replace(out=str(tmp_path / "one")))
    torch.testing.assert_close(run.record.margin, one.record.margin, atol=1e-3, rtol=1e-3)
