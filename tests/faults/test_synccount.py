"""The counter of syncs, against a process whose syncs are known."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from faults.synccount import SyncCounter

# For every line "N M" two threads, one old and one new, share out N fsync and M fdatasync calls.
SYNCING = """
import os, queue, signal, sys, tempfile, threading

file = tempfile.TemporaryFile(buffering=0)
tasks, done = queue.Queue(), queue.Queue()
# Not by print(), which the signal may interrupt.
signal.signal(signal.SIGUSR1, lambda *_: os.write(1, b"signal\\n"))

def sync(fsyncs, fdatasyncs):
    for call, times in (os.fsync, fsyncs), (os.fdatasync, fdatasyncs):
        for _ in range(times):
            file.write(b"x")
            call(file.fileno())

def work():
    while True:
        sync(*tasks.get())
        done.put(None)

# Python answers signals in the main thread only, so no other one should be given them.
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
threading.Thread(target=work, daemon=True).start()
signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGUSR1])
print("ready", flush=True)
for line in sys.stdin:
    fsyncs, fdatasyncs = map(int, line.split())
    old = fsyncs // 2, fdatasyncs // 2
    tasks.put(old)
    new = threading.Thread(target=sync, args=(fsyncs - old[0], fdatasyncs - old[1]))
    new.start()
    new.join()
    done.get()
    print("done", flush=True)
sys.exit(7)
"""
Child = subprocess.Popen[str]


@pytest.fixture
def child() -> Iterator[Child]:
    """A process that syncs on command."""
    command = [sys.executable, "-c", SYNCING]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, bufsize=1) as process:
        assert answer(process) == "ready"
        yield process
        process.kill()


def answer(child: Child) -> str:
    """The next line that the child prints."""
    assert child.stdout is not None
    return child.stdout.readline().strip()


def sync(child: Child, fsyncs: int, fdatasyncs: int) -> None:
    """Lets the child sync and waits until it is done."""
    assert child.stdin is not None
    child.stdin.write(f"{fsyncs} {fdatasyncs}\n")
    assert answer(child) == "done"


def await_state(child: Child, letter: str) -> None:
    """Waits for a state of the process: T is stopped, t is stopped under a tracer."""
    deadline = time.monotonic() + 10
    while f"State:\t{letter} " not in Path(f"/proc/{child.pid}/status").read_text():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_counts_every_sync_of_every_thread_in_the_block(child: Child) -> None:
    sync(child, 3, 3)
    for fsyncs, fdatasyncs in (7, 4), (0, 0), (1, 0), (0, 1), (50, 50):
        with SyncCounter(child.pid) as counter:
            sync(child, fsyncs, fdatasyncs)
            assert counter.count == fsyncs + fdatasyncs
        sync(child, 2, 2)
        assert counter.count == fsyncs + fdatasyncs


def test_moments_lie_between_request_and_answer(child: Child) -> None:
    with SyncCounter(child.pid) as counter:
        before = time.monotonic_ns()
        sync(child, 2, 1)
        between = time.monotonic_ns()
        sync(child, 1, 1)
        after = time.monotonic_ns()
    first, second = counter.moments[:3], counter.moments[3:]
    assert all(before < moment < between for moment in first)
    assert all(between < moment < after for moment in second)
    assert len(second) == 2


def test_the_process_goes_on_and_ends_as_ever(child: Child) -> None:
    with SyncCounter(child.pid):
        pass
    sync(child, 2, 2)
    assert child.stdin is not None
    child.stdin.close()
    assert child.wait(10) == 7


def test_signals_reach_the_process(child: Child) -> None:
    with SyncCounter(child.pid) as counter:
        os.kill(child.pid, signal.SIGUSR1)
        assert answer(child) == "signal"
        os.kill(child.pid, signal.SIGSTOP)
        await_state(child, "t")
        os.kill(child.pid, signal.SIGCONT)
        sync(child, 1, 1)
    assert counter.count == 2


def test_a_stopped_process_stays_stopped(child: Child) -> None:
    os.kill(child.pid, signal.SIGSTOP)
    with SyncCounter(child.pid):
        pass
    await_state(child, "T")
    os.kill(child.pid, signal.SIGCONT)
    sync(child, 1, 1)


def test_the_end_of_the_process_is_left_to_its_parent(child: Child) -> None:
    with SyncCounter(child.pid) as counter:
        sync(child, 1, 1)
        os.kill(child.pid, signal.SIGKILL)
        assert answer(child) == ""
    assert child.wait(10) == -signal.SIGKILL
    assert counter.count == 2


def test_an_unknown_process_is_an_error() -> None:
    with subprocess.Popen(["true"]) as ended:
        pass
    with pytest.raises(ProcessLookupError), SyncCounter(ended.pid):
        pass
