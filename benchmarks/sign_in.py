"""Signing in. Whether an unknown e-mail address and a wrong password can be told apart by time, and
what a flood of sign-ins does to redirects of the same server."""

import argparse
import contextlib
import http.client
import json
import math
import multiprocessing
import os
import random
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import uvloop

from create import HERE, Server, sign_up, started
from load import Result, drive

KNOWN = "ada@example.com"
JSON = {"content-type": "application/json"}
FLOODS = (16, 40)  # connections: as many as may wait, and more


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=60, help="sign-ins of each kind")
    parser.add_argument("--seconds", type=float, default=5.0, help="of redirects, a round")
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--json", type=Path, help="write the numbers there")
    options = parser.parse_args()
    kurz = [str(Path(sys.executable).with_name("kurz")), "serve", "--port", "0"]
    with tempfile.TemporaryDirectory(dir=HERE) as temporary:
        folder = Path(temporary)
        with started("kurz", kurz, "/", folder, cores="0-1") as server:
            sign_up(server.port)
            numbers = tell_apart(server.port, options.samples)
            numbers |= flood(server, options.rounds, options.seconds)
    if options.json is not None:
        options.json.write_text(json.dumps(numbers, indent=2))


def tell_apart(port: int, samples: int) -> dict[str, float]:
    kinds: dict[str, Callable[[], str]] = {
        "unknown e-mail": lambda: f"nobody{random.randrange(10**9)}@example.com",
        "wrong password": lambda: KNOWN,
    }
    times: dict[str, list[float]] = {kind: [] for kind in kinds}
    for _ in range(samples):
        for kind in random.sample(list(kinds), len(kinds)):
            times[kind].append(_sign_in(port, kinds[kind]()))
    print(f"{'':18}{'median ms':>12}{'mean ms':>10}{'deviation':>11}")
    for kind, found in times.items():
        mean, deviation = statistics.mean(found), statistics.stdev(found)
        print(f"{kind:18}{statistics.median(found):12.2f}{mean:10.2f}{deviation:11.2f}")
    first, second = times.values()
    t = _welch(first, second)
    print(f"\nWelch's t: {t:.2f} (to be told apart: beyond 4.5)\n")
    return {"t": t, "unknown_ms": statistics.median(first), "wrong_ms": statistics.median(second)}


def flood(server: Server, rounds: int, seconds: float) -> dict[str, float]:
    path = _make_link(server.port)
    request = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n\r\n".encode()
    results: dict[int, list[Result]] = {0: [], **{size: [] for size in FLOODS}}
    statuses: dict[int, Counter[int]] = {size: Counter() for size in FLOODS}
    for _ in range(rounds):
        results[0].append(uvloop.run(drive(server.port, request, 8, seconds)))
        for size in FLOODS:
            with multiprocessing.Pool(1) as pool:
                pending = pool.apply_async(_flood, (server.port, size, seconds))
                results[size].append(uvloop.run(drive(server.port, request, 8, seconds)))
                statuses[size].update(pending.get())
    print(f"{'redirects beside':18}{'per second':>12}{'p50 ms':>10}{'p99 ms':>11}  sign-ins")
    numbers = {}
    for size, found in results.items():
        row = _row(found)
        numbers[f"p99_ms_beside_{size}"] = row[2]
        told = dict(statuses.get(size, {}))
        print(f"{size:3} sign-ins      {row[0]:12,.0f}{row[1]:10.2f}{row[2]:11.2f}  {told}")
    return numbers


def _flood(port: int, connections: int, seconds: float) -> dict[int, int]:
    body = json.dumps({"email": KNOWN, "password": "not the password"})
    request = (
        f"POST /api/v1/auth/sign-in HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n{body}"
    )
    found = uvloop.run(drive(port, request.encode(), connections, seconds))
    return dict(found.statuses)


def _sign_in(port: int, email: str) -> float:
    connection = http.client.HTTPConnection("127.0.0.1", port)
    body = json.dumps({"email": email, "password": "not the password"})
    with contextlib.closing(connection):
        connection.connect()
        began = time.perf_counter()
        connection.request("POST", "/api/v1/auth/sign-in", body, JSON)
        answer = connection.getresponse()
        answer.read()
        if answer.status != 401:
            sys.exit(f"a sign-in was answered with {answer.status}")
        return (time.perf_counter() - began) * 1000


def _make_link(port: int) -> str:
    connection = http.client.HTTPConnection("127.0.0.1", port)
    with contextlib.closing(connection):
        connection.request("POST", "/", "https://example.com/")
        return "/" + connection.getresponse().read().decode().strip().rpartition("/")[2]


def _row(results: list[Result]) -> tuple[float, float, float]:
    median = statistics.median
    centiles = [statistics.quantiles(item.latencies_ms, n=100) for item in results]
    return (
        median(item.answers / item.seconds for item in results),
        median(item[49] for item in centiles),
        median(item[98] for item in centiles),
    )


def _welch(first: list[float], second: list[float]) -> float:
    spread = statistics.variance(first) / len(first) + statistics.variance(second) / len(second)
    return (statistics.mean(first) - statistics.mean(second)) / math.sqrt(spread)


if __name__ == "__main__":
    os.environ.setdefault("KURZ_LOG_LEVEL", "warning")
    main()
