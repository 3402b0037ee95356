"""The first signal sets a flag, the second ends the process; handlers are restored afterwards."""

import os
import pickle
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from noiseproof.processes import Interrupted, Interruption

SIGNALS = [signal.SIGTERM, signal.SIGINT]
CHILD = """
import os, signal, sys
from noiseproof.processes import Interruption

def child(first, second):
    sys.stdout.write("said before; ")
    with Interruption() as interruption:
        os.kill(os.getpid(), first)
        sys.stdout.write(f"received {interruption.received}")
        if second:
            os.kill(os.getpid(), second)
            sys.stdout.write(" never said")
    sys.stdout.flush()
    os._exit(interruption.exit_code)

signal.signal(signal.SIGINT, signal.default_int_handler)
for first, second in [(a, b) for a in (15, 2) for b in (0, 15, 2)]:
    pid = os.fork()
    if pid == 0:
        child(first, second)
    status = os.waitpid(pid, 0)[1]
    sys.stdout.write(f", {os.waitstatus_to_exitcode(status)}\\n")
    sys.stdout.flush()
"""


@pytest.fixture(autouse=True)
def usual_handlers():
    before = {number: signal.signal(number, handler) for number, handler in usual().items()}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def usual():
    return {signal.SIGTERM: signal.SIG_DFL, signal.SIGINT: signal.default_int_handler}


def handlers():
    return {number: signal.getsignal(number) for number in SIGNALS}


@pytest.mark.parametrize("number", SIGNALS)
def test_first_signal_only_sets_received(number):
    with Interruption() as interruption:
        assert (interruption.received, interruption.exit_code) == (None, 0)
        signal.raise_signal(number)
        assert interruption.received == number
    assert interruption.exit_code == {signal.SIGTERM: 143, signal.SIGINT: 130}[number]
    assert handlers() == usual()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="Windows has neither fork nor such signals")
def test_second_signal_ends_the_process_after_flushing_output():
    buffered = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    command = [sys.executable, "-c", CHILD]
    done = subprocess.run(command, check=False, capture_output=True, text=True, env=buffered)  # noqa: S603
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        f"said before; received {first}, {128 + (second or first)}"
        for first in (15, 2)
        for second in (0, 15, 2)
    ]


def test_handlers_are_restored_after_an_error_and_when_nested():
    def own(number, frame):
        raise AssertionError

    signal.signal(signal.SIGTERM, own)
    outer, inner = Interruption(), Interruption()
    with pytest.raises(ZeroDivisionError), outer, inner:
        _ = signal.raise_signal(signal.SIGTERM) or 1 / 0
    assert (outer.received, inner.received) == (None, signal.SIGTERM)
    assert handlers() == {**usual(), signal.SIGTERM: own}


def test_signals_after_exit_are_not_received():
    with Interruption() as interruption:
        pass
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)
    assert interruption.received is None


def test_ignored_signals_stay_ignored():
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with Interruption() as interruption:
        signal.raise_signal(signal.SIGINT)
        assert interruption.received is None
        signal.raise_signal(signal.SIGTERM)
        assert interruption.received == signal.SIGTERM
    assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN


def test_handlers_are_not_set_outside_the_main_thread():
    seen = []

    def work():
        with Interruption() as interruption:
            seen.append((handlers(), interruption.received))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [(usual(), None)]
    assert handlers() == usual()


def test_interrupted_has_epoch_and_step_and_can_be_pickled():
    stop = Interrupted(signal.SIGTERM, os.path.join("runs", "a"), epoch=3, step=120)
    for one in (stop, pickle.loads(pickle.dumps(stop))):
        assert str(one) == "stopped by SIGTERM after epoch 3, step 120; run the same command to resume"
        assert (one.exit_code, one.folder, one.epoch, one.step) == (143, Path("runs/a"), 3, 120)
    assert Interrupted(2, "a", epoch=1, step=1).exit_code == 130
