"""Damaged files of every kind: each is read or refused in words, soon and in little memory.

100 damaged inputs for each reader in ``make test``, 10,000 in ``make test-all``, the same every time. An
input that fails can be made again: ``mutated(seed, name, number)`` with what the message says.
"""

import resource
import signal
import sys
import time
import warnings
from contextlib import contextmanager

import pytest
from mutator import mutated
from readers import CORPUS, READERS

SECONDS = 5
MEMORY = 1 << 30
ALLOWED = (ValueError, TypeError, OSError)


@contextmanager
def limits():
    """At most 1 GB more than now, and a signal where something takes longer than 5 s."""
    limit = resource.getrlimit(resource.RLIMIT_AS)
    with open("/proc/self/statm") as file:
        now = int(file.read().split()[0]) * resource.getpagesize()
    handler = signal.signal(signal.SIGALRM, _too_long)
    resource.setrlimit(resource.RLIMIT_AS, (now + MEMORY, limit[1]))
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, handler)
        resource.setrlimit(resource.RLIMIT_AS, limit)


def _too_long(number, frame):
    raise TimeoutError(f"not finished after {SECONDS} s")


@pytest.mark.skipif(sys.platform != "linux", reason="limits on memory and time are those of Linux")
@pytest.mark.parametrize("count", [100, pytest.param(10_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", READERS)
def test_what_is_damaged_is_read_or_refused_in_words(tmp_path, name, count):
    seeds = sorted((CORPUS / name).iterdir())
    outcomes = {"read": 0, "refused": 0}
    for seed in seeds:  # as they are, all can be read; libraries are loaded before memory is limited
        content = seed.read_bytes()
        (tmp_path / seed.name).write_bytes(content.strip() if name == "spec" else content)
        READERS[name](tmp_path / seed.name)
    with warnings.catch_warnings(), limits():
        warnings.simplefilter("ignore")
        for number in range(count):
            seed = seeds[number % len(seeds)]
            path = tmp_path / seed.name
            path.write_bytes(mutated(seed.read_bytes(), seed.name, number))
            begin = time.perf_counter()
            signal.setitimer(signal.ITIMER_REAL, SECONDS)
            try:
                READERS[name](path)
                outcomes["read"] += 1
            except ALLOWED as problem:
                if not str(problem) or "not finished after" in str(problem):
                    raise AssertionError(f"{seed.name} {number}: {problem!r}") from problem
                outcomes["refused"] += 1
            except BaseException as problem:
                raise AssertionError(f"{seed.name} {number}: {problem!r}") from problem
            assert time.perf_counter() - begin < SECONDS
    assert outcomes["refused"] > count // 10


def test_the_mutator_gives_the_same_bytes_every_time_and_others_for_other_numbers():
    seed = (CORPUS / "config/new.json").read_bytes()
    first = [mutated(seed, "a", number) for number in range(50)]
    assert first == [mutated(seed, "a", number) for number in range(50)]
    assert len(set(first)) > 45
    assert first != [mutated(seed, "b", number) for number in range(50)]
