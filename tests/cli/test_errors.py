import errno
import os
import signal
import subprocess
import sys
import warnings

import numpy as np
import pytest
import torch

from noiseproof.cli.errors import exit_code, exit_on_signals, is_out_of_memory, one_line, one_line_warnings
from noiseproof.data import DataMissingError, load
from noiseproof.devices.capture import CaptureError
from noiseproof.models.size import NetworkTooLargeError
from noiseproof.train import ComparisonStopped, Interrupted, NonFiniteError, RunExistsError, RunLockedError


@pytest.mark.parametrize(
    ("problem", "code"),
    [
        (ValueError("a"), 2),
        (TypeError("a"), 2),
        (ImportError("a"), 2),
        (RunExistsError("a"), 2),
        (RunLockedError("a"), 2),
        (DataMissingError("a"), 2),
        (PermissionError(errno.EACCES, "a"), 2),
        (OSError(errno.ENOSPC, "a"), 1),
        (OSError(errno.EIO, "a"), 1),
        (NonFiniteError("a"), 1),
        (CaptureError("a"), 1),
        (MemoryError(), 1),
        (torch.OutOfMemoryError("a"), 1),
        (Interrupted(signal.SIGTERM, "a", epoch=1, step=1), 143),
        (ComparisonStopped(signal.SIGINT, 1, 2), 130),
        (AssertionError("a"), None),
        (KeyError("a"), None),
        (RuntimeError("a"), None),
    ],
)
def test_exit_codes(problem, code):
    assert exit_code(problem) == code


def test_one_line_is_never_empty():
    assert one_line(ValueError("a\n  b\r\n\tc")) == "a b c"
    assert one_line(KeyboardInterrupt()) == "KeyboardInterrupt"


@pytest.mark.parametrize(
    ("problem", "words"),
    [
        (MemoryError(), "out of memory: use a smaller --batch-size or --model, read the data in pieces"),
        (np.exceptions.AxisError("x"), None),
        (torch.OutOfMemoryError("CUDA out of memory"), "CUDA out of memory: use a smaller --batch-size"),
        (RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory"), "allocate memory: use a"),
        (NetworkTooLargeError("too large: choose a smaller one"), "too large: choose a smaller one"),
    ],
)
def test_out_of_memory_error_has_advice(problem, words):
    assert is_out_of_memory(problem) == (words is not None)
    if words is not None:
        assert exit_code(problem) == 1
        assert words in one_line(problem)


def test_missing_dataset_message_is_brief(tmp_path):
    for files, told in (((), ""), (("data_batch_1.bin",), " (missing: data_batch_2.bin, data_batch_3.bin, ")):
        for name in files:
            (tmp_path / name).touch()
        with pytest.raises(DataMissingError) as caught:
            load("cifar10", root=tmp_path)
        line = one_line(caught.value)
        assert line.startswith(f"cifar10 is not complete under {tmp_path}{told}")
        assert line.endswith(": noiseproof data get cifar10, or set NOISEPROOF_DATA to a folder that has it")
    assert one_line(DataMissingError("gone\nelsewhere")) == "gone elsewhere"


def test_interrupted_comparison_reports_its_progress():
    stop = ComparisonStopped(signal.SIGINT, 3, 35)
    assert str(stop) == "stopped by SIGINT with 3 of 35 runs finished; run the same command to resume"


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_signals_without_a_run(number, code, capfd):
    before = signal.getsignal(number)
    with pytest.raises(SystemExit) as ended, exit_on_signals():
        os.kill(os.getpid(), number)
    assert ended.value.code == code
    assert capfd.readouterr().err == f"noiseproof: stopped by {number.name}\n"
    assert signal.getsignal(number) is before


def test_ignored_signals_stay_ignored():
    before = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        with exit_on_signals():
            os.kill(os.getpid(), signal.SIGTERM)
            assert signal.getsignal(signal.SIGTERM) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGTERM, before)


def test_signal_during_a_command_causes_no_traceback():
    code = (
        "import os, signal, sys; from noiseproof.cli import main;"
        "main.root_command = lambda: lambda **_: os.kill(os.getpid(), signal.SIGINT); main.main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)  # noqa: S603
    assert (done.returncode, done.stderr) == (130, "noiseproof: stopped by SIGINT\n")


def test_warning_is_one_line_without_location(capfd):
    before = warnings.showwarning
    with one_line_warnings():
        warnings.simplefilter("always")
        warnings.warn("two\n  lines\x1b[2J", stacklevel=1)
    assert capfd.readouterr().err == "noiseproof: warning: two lines [2J\n"
    assert warnings.showwarning is before
