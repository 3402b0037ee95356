"""Run as a script: processes that save checkpoints and are killed, or whose disk gets full; prints JSON.

Torch is imported once and every process is a fork of this one, so that a kill costs milliseconds.
"""

import errno
import json
import os
import random
import signal
import sys
import time
import warnings
from pathlib import Path

import torch

from noiseproof import atomic
from noiseproof.train import checkpoint

CALLS = ("write", "fsync", "replace", "unlink")


def tensors_of(step):
    generator = torch.Generator().manual_seed(step)
    return {"weight": torch.randn(100, 300, generator=generator), "step": torch.tensor(float(step))}


def save(folder, step, again=0):
    state = {"step": step, "third": step / 3, "again": again, "tensors": tensors_of(step + again)}
    checkpoint.save(folder, step=step, state=state)


def newest_step(folder):
    """Step of the newest checkpoint, which must be readable without a warning and equal what was saved."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = checkpoint.newest(folder)
    if found is None:
        return -1
    state = found.state
    again, tensors = state["again"], state.pop("tensors")
    wanted = tensors_of(found.step + again)
    assert state == {"step": found.step, "third": found.step / 3, "again": again}
    assert tensors.keys() == wanted.keys()
    assert all(torch.equal(tensors[name], wanted[name]) for name in wanted)
    return found.step + again


def fork_and_run(work):
    child = os.fork()
    if child == 0:
        try:
            work()
        finally:
            os._exit(1)
    return child


def save_until_killed(folder, start, delay):
    """Steps that were saved before the process was killed."""
    reader, writer = os.pipe()

    def work():
        step = start
        while True:
            save(folder, step)
            os.write(writer, b".")
            step += 1

    child = fork_and_run(work)
    os.close(writer)
    time.sleep(delay)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    with os.fdopen(reader, "rb") as pipe:
        return len(pipe.read())


def kill_at_random_moments(folder, count):
    """Repeat until ``count`` kills happened during a save, which depends on the scheduler."""
    chance = random.Random(count)  # noqa: S311
    begin = time.perf_counter()
    save(folder, 0)
    longest = 4 * (time.perf_counter() - begin)
    last, kills, struck = 0, 0, 0
    while struck < count and kills < 100 * count:
        kills += 1
        saved = save_until_killed(folder, last + 1, chance.uniform(0, longest))
        names = os.listdir(folder)
        found = newest_step(folder)
        assert last + saved <= found <= last + saved + 1, (last, saved, found, names)
        struck += bool(atomic.remove_temporary_files(folder)) or len(names) > 2
        last = found
    return {
        "kills": kills,
        "in the middle of a save": struck,
        "steps": last,
        "left": sorted(os.listdir(folder)),
    }


def kill_at_call(number, after, strike):
    """Call ``strike`` before or after the system call with this number, counted over all of CALLS."""
    calls = [0]

    def striking(function, name):
        def call(*arguments):
            calls[0] += 1
            if calls[0] != number:
                return function(*arguments)
            if name == "write":
                function(arguments[0], arguments[1][: len(arguments[1]) // 2])
            elif after:
                function(*arguments)
            return strike()

        return call

    for name in CALLS:
        setattr(os, name, striking(getattr(os, name), name))
    return calls


def kill_at_every_call(folder, again):
    """Killed before and after each system call of the third save, at which there are files to remove.

    That save is of a new step, or with ``again`` of the second one with other tensors.
    """
    third = (2, 1) if again else (3, 0)
    counted = count_calls(folder, third)
    found = []
    for number in range(1, counted + 1):
        for after in (False, True):
            place = Path(folder, f"{number}-{after}")
            for step in (1, 2):
                save(place, step)

            def work(place=place, number=number, after=after):
                kill_at_call(number, after, lambda: os.kill(os.getpid(), signal.SIGKILL))
                save(place, *third)

            status = os.waitpid(fork_and_run(work), 0)[1]
            assert os.WIFSIGNALED(status), (number, after, status)
            found.append(newest_step(place))
            save(place, 5)
            atomic.remove_temporary_files(place)
            assert len(os.listdir(place)) == 2, os.listdir(place)
    return {"calls": counted, "found": found}


def count_calls(folder, third):
    reader, writer = os.pipe()

    def work():
        for step in (1, 2):
            save(Path(folder, "counting"), step)
        calls = kill_at_call(0, False, None)
        save(Path(folder, "counting"), *third)
        print(calls[0], file=os.fdopen(writer, "w"), flush=True)

    os.waitpid(fork_and_run(work), 0)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        return int(pipe.read())


def save_on_a_full_disk(folder):
    """Free space from 0 to more than enough, in pages of 4 kB."""
    run = Path(folder, "run")
    save(run, 1)
    for free in range(80):
        (Path(folder) / "filler").unlink(missing_ok=True)
        disk = os.statvfs(folder)
        pages = disk.f_bavail * disk.f_frsize // 4096
        (Path(folder) / "filler").write_bytes(b"x" * 4096 * (pages - free))
        if not raises_disk_full(run):
            assert newest_step(run) == 2
            return {"refused": free}
        assert os.listdir(run) == ["step-000000001.safetensors"]
        assert newest_step(run) == 1
    raise AssertionError("never fitted")


def raises_disk_full(run):
    try:
        save(run, 2)
    except OSError as problem:
        if problem.errno == errno.ENOSPC and "free space and run the same command again" in str(problem):
            return True
        raise
    return False


if __name__ == "__main__":
    what, folder, *rest = sys.argv[1:]
    sys.stdout.write(json.dumps(globals()[what](folder, *map(int, rest))))
