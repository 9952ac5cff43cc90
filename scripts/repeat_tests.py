"""Runs the tests many times and lists what failed: `make test-repeat N=10`, with `BUSY=1` beside
other work that takes every core.

A test that fails now and then is a defect, of the test or of the code. The run fails if any test
failed in any round, or if the rounds did not have the same number of tests.
"""

import argparse
import os
import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

_BUSY = "while True: pass"


class Round(NamedTuple):
    tests: int
    failed: dict[str, str]  # what each said, by its name
    seconds: float


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rounds", type=int)
    parser.add_argument("--busy", action="store_true", help="keep every core busy meanwhile")
    parser.add_argument("pytest", nargs="*", help="arguments for pytest")
    arguments = parser.parse_args()
    rounds = []
    with other_work(os.cpu_count() or 1 if arguments.busy else 0):
        for number in range(1, arguments.rounds + 1):
            rounds.append(run_once(arguments.pytest))
            print(describe(number, rounds[-1]), flush=True)
            for name, text in rounds[-1].failed.items():
                print(f"{name}\n{text}", flush=True)
    failures = Counter(name for one in rounds for name in one.failed)
    for name, times in failures.most_common():
        print(f"{times} of {len(rounds)} times: {name}")
    if failures or len({one.tests for one in rounds}) != 1:
        sys.exit(1)
    print(f"{len(rounds)} rounds of {rounds[0].tests} tests, no failure.")


def run_once(options: list[str]) -> Round:
    with TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        began = time.monotonic()
        command = [sys.executable, "-m", "pytest", "-q", f"--junit-xml={report}", *options]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        seconds = time.monotonic() - began
        if not report.exists():
            sys.exit(f"pytest did not run:\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
        cases = list(ET.parse(report).iter("testcase"))  # noqa: S314  pytest has written it
    failed = {
        f"{case.get('classname')}::{case.get('name')}": "".join(part.text or "" for part in case)
        for case in cases
        if case.find("failure") is not None or case.find("error") is not None
    }
    if done.returncode and not failed:
        failed = {f"pytest itself, with exit code {done.returncode}": done.stdout[-3000:]}
    return Round(len(cases), failed, seconds)


def describe(number: int, one: Round) -> str:
    minutes, seconds = divmod(round(one.seconds), 60)
    result = f"{len(one.failed)} failed" if one.failed else "passed"
    return f"round {number}: {one.tests} tests, {result}, {minutes}:{seconds:02}"


@contextmanager
def other_work(processes: int) -> Iterator[None]:
    running = [subprocess.Popen([sys.executable, "-c", _BUSY]) for _ in range(processes)]
    try:
        yield
    finally:
        for process in running:
            process.kill()
            process.wait()


if __name__ == "__main__":
    main()
