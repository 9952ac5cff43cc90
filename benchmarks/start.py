"""How fast things start, and what an idle server takes: medians of several runs."""

import argparse
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

KURZ = str(Path(sys.executable).with_name("kurz"))


def first_answer(data: str) -> tuple[float, float]:
    """Seconds from starting `kurz serve` to its first answer, and MB it then takes when idle."""
    started = time.perf_counter()
    process = subprocess.Popen(
        [KURZ, "serve"],
        env={**os.environ, "KURZ_DATA_DIR": data, "KURZ_PORT": "0"},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    address = re.search(r"http://127\.0\.0\.1:\d+", process.stdout.readline())
    if address is None:
        sys.exit("kurz did not start")
    urllib.request.urlopen(f"{address[0]}/healthz").read()  # noqa: S310  our own server
    seconds = time.perf_counter() - started
    memory = idle_megabytes(process.pid)
    process.terminate()
    process.wait()
    process.stdout.close()
    return seconds, memory


def idle_megabytes(pid: int) -> float:
    """Memory of the supervisor and its children, after a moment without requests. It is the sum of
    their proportional shares, in which what they share counts once."""
    time.sleep(1)
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return sum(map(proportional_megabytes, [str(pid), *children]))


def proportional_megabytes(pid: str) -> float:
    rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
    kilobytes = re.search(r"Pss:\s+(\d+)", rollup)
    assert kilobytes is not None
    return int(kilobytes[1]) / 1024


def command(data: str, *arguments: str) -> float:
    started = time.perf_counter()
    subprocess.run(
        [KURZ, *arguments],
        env={**os.environ, "KURZ_DATA_DIR": data},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=True,
    )
    return time.perf_counter() - started


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    rounds = range(parser.parse_args().rounds)
    with tempfile.TemporaryDirectory() as data:
        starts = [first_answer(data) for _ in rounds]
        rows = {
            "kurz serve, to the first answer (goal 1.5)": [seconds for seconds, _ in starts],
            "kurz --help (goal 0.3)": [command(data, "--help") for _ in rounds],
            "kurz code (goal 0.3)": [
                command(data, "code", "https://example.com/", "--workspace", "1") for _ in rounds
            ],
            "kurz create (goal 0.8)": [
                command(data, "create", "https://example.com/") for _ in rounds
            ],
            "kurz list (goal 0.8)": [command(data, "list") for _ in rounds],
        }
    print(f"{'':46}{'median s':>10}{'worst s':>10}")
    for name, seconds in rows.items():
        print(f"{name:46}{statistics.median(seconds):10.2f}{max(seconds):10.2f}")
    memory = statistics.median(megabytes for _, megabytes in starts)
    print(
        f"\nidle memory of the server: {memory:.0f} MB (aim: at most 150), the sum of the"
        "\nproportional shares (PSS) of supervisor, one worker and jobs process"
    )


if __name__ == "__main__":
    main()
