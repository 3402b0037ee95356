"""A script in which several processes lock the same folder at the same time; prints JSON."""

import json
import os
import signal
import sys
import time

from noiseproof.lock import RunLock, RunLockedError

RACERS = 8


def forked(work):
    child = os.fork()
    if child == 0:
        try:
            work()
            os._exit(0)
        finally:
            os._exit(1)
    return child


def race(folder):
    """W for each process that holds the lock and L for each that is refused; owners wait for all attempts."""
    start, results = os.pipe(), os.pipe()

    def work():
        os.close(start[1])
        os.read(start[0], 1)
        try:
            with RunLock(folder):
                os.write(results[1], b"W")
                time.sleep(60)
        except RunLockedError:
            os.write(results[1], b"L")

    children = [forked(work) for _ in range(RACERS)]
    os.close(start[0])
    os.close(start[1])
    seen = b""
    while len(seen) < RACERS:
        seen += os.read(results[0], 100)
    for child in children:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    return "".join(sorted(seen.decode()))


def races(folder, count):
    """The locks of all races but the first are those of processes killed in the race before."""
    return [race(folder) for _ in range(count)]


def counting(folder, each):
    """Processes that add one to a number in a file, each time inside the lock."""
    os.makedirs(folder, exist_ok=True)
    number = os.path.join(folder, "number")

    def add():
        with open(number) as file:
            value = int(file.read())
        time.sleep(0.0005)
        with open(number, "w") as file:
            file.write(str(value + 1))

    def work():
        done = 0
        while done < each:
            try:
                with RunLock(folder):
                    add()
                    done += 1
            except RunLockedError:
                time.sleep(0.0005)

    with open(number, "w") as file:
        file.write("0")
    statuses = [os.waitpid(child, 0)[1] for child in [forked(work) for _ in range(4)]]
    with open(number) as file:
        return {"statuses": statuses, "number": int(file.read())}


def orphans(folder, _):
    """Whether the lock is free after its owner was killed while a forked worker lives."""
    said = os.pipe()

    def live():
        os.write(said[1], str(os.getpid()).encode())
        time.sleep(60)

    def work():
        with RunLock(folder):
            forked(live)
            time.sleep(60)

    writer = forked(work)
    worker = int(os.read(said[0], 20))
    try:
        held = is_locked(folder)
        os.kill(writer, signal.SIGKILL)
        os.waitpid(writer, 0)
        os.kill(worker, 0)
        return {"held": held, "held after the kill": is_locked(folder)}
    finally:
        os.kill(worker, signal.SIGKILL)


def is_locked(folder):
    try:
        with RunLock(folder):
            return False
    except RunLockedError:
        return True


if __name__ == "__main__":
    what, folder, count = sys.argv[1:]
    sys.stdout.write(json.dumps(globals()[what](folder, int(count))))
