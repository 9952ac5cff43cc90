"""What happens at three times the load that saturates creates: how many succeed, and how long a
redirect waits, in CPU time of the worker, which other programs on the machine do not change.

Rounds alternate. The first kind finds out how many creates a second one worker can do, with clients
that wait for their answers. The second kind sends three times as many, at a fixed rate, whether the
server keeps up or not. The worker has a core; the load and the visitor have the other one."""

import argparse
import asyncio
import json
import multiprocessing
import os
import socket
import statistics
import sys
import tempfile
import time
import urllib.request
from collections import Counter, deque
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, cast

import uvloop

from create import BODY, Server, started
from load import drive

HERE = Path(__file__).parent
SATURATING = 32  # clients that wait for their answers
CONNECTIONS = 1500  # more than a server without a bound would ever have in flight
VISIT_SECONDS = 0.02
TIMES = 3
GOODPUT, WAIT_MS = 0.9, 50.0


@dataclass
class Round:
    """What came back at three times the peak."""

    peak: float
    peak_cpu_us: float  # of a create, in a worker that is just saturated
    seconds: float = 0.0
    cpu_seconds: float = 0.0  # of the worker
    statuses: Counter[int] = field(default_factory=Counter)
    create_ms: list[float] = field(default_factory=list)  # of those that succeeded
    wait_ms: list[float] = field(default_factory=list)  # of redirects, in CPU time of the worker

    @property
    def goodput(self) -> float:
        return self.statuses[201] / self.seconds / self.peak

    @property
    def goodput_by_cpu(self) -> float:
        """The same for a second of the worker's CPU: what other programs take changes nothing."""
        return self.statuses[201] * self.peak_cpu_us / self.cpu_seconds / 1e6

    @property
    def wait_p99_ms(self) -> float:
        return statistics.quantiles(self.wait_ms, n=100)[98]

    def told(self) -> dict[str, float]:
        return {
            "peak_per_second": round(self.peak),
            "offered_per_second": round(sum(self.statuses.values()) / self.seconds),
            "created_per_second": round(self.statuses[201] / self.seconds),
            "refused_per_second": round(self.statuses[503] / self.seconds),
            "worker_cpu": round(self.cpu_seconds / self.seconds, 2),
            "goodput_by_cpu": round(self.goodput_by_cpu, 3),
            "create_p50_ms": round(statistics.median(self.create_ms), 1),
            "redirects": len(self.wait_ms),
            "redirect_wait_p50_cpu_ms": round(statistics.median(self.wait_ms), 2),
            "redirect_wait_p99_cpu_ms": round(self.wait_p99_ms, 2),
        }


class Client(asyncio.Protocol):
    """A connection that says when its answer is whole."""

    def __init__(self) -> None:
        self._waiting = b""
        self._answered: asyncio.Future[int] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def ask(self, request: bytes) -> asyncio.Future[int]:
        self._answered = asyncio.get_running_loop().create_future()
        self._transport.write(request)
        return self._answered

    def data_received(self, data: bytes) -> None:
        self._waiting += data
        head, end, body = self._waiting.partition(b"\r\n\r\n")
        if not end:
            return
        _, _, length = head.lower().partition(b"content-length:")
        if len(body) >= int(length.partition(b"\r\n")[0] or 0) and self._answered is not None:
            self._waiting = b""
            self._answered.set_result(int(head[9:12]))

    def connection_lost(self, error: Exception | None) -> None:
        if self._answered is not None and not self._answered.done():
            self._answered.set_exception(error or ConnectionResetError("closed"))

    def close(self) -> None:
        self._transport.close()


async def connect(port: int, path: str) -> list[Client]:
    """Each has made a visit: kurz accepts a connection with its first request, and what that takes
    is no part of the load."""
    loop = asyncio.get_running_loop()
    request = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode()
    clients = []
    for _ in range(CONNECTIONS):
        _, client = await loop.create_connection(Client, "127.0.0.1", port)
        if await client.ask(request) != 302:
            raise SystemExit("the link does not redirect")
        clients.append(client)
    return clients


async def overload(
    clients: list[Client], request: bytes, rate: float, seconds: float, result: Round
) -> None:
    """Sends at that rate. While no connection is idle the server has enough."""
    idle = deque(clients)

    async def create() -> None:
        client, began = idle.popleft(), time.perf_counter()
        status = await client.ask(request)
        result.statuses[status] += 1
        if status == 201:
            result.create_ms.append((time.perf_counter() - began) * 1000)
        idle.append(client)

    started_at, sent = time.perf_counter(), 0
    async with asyncio.TaskGroup() as tasks:
        while (passed := time.perf_counter() - started_at) < seconds:
            while sent < passed * rate and idle:
                tasks.create_task(create())
                sent += 1
                await asyncio.sleep(0)
            await asyncio.sleep(0.001)
    result.seconds = time.perf_counter() - started_at


def cpu_clock_of(pid: int) -> int:
    """As clock_getcpuclockid(3) has it."""
    return (~pid << 3) | 2


def visit(
    port: int, path: str, worker: int, seconds: float, told: "Connection[list[float], Any]"
) -> None:
    """In a process of its own: the one that sends the load has too much to do to notice when an
    answer comes."""
    cpu_clock = cpu_clock_of(worker)
    request = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode()
    waits = []
    with socket.create_connection(("127.0.0.1", port)) as visitor:
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            before = time.clock_gettime(cpu_clock)
            visitor.sendall(request)
            if not visitor.recv(65536).startswith(b"HTTP/1.1 302"):
                raise SystemExit("the link does not redirect")
            waits.append((time.clock_gettime(cpu_clock) - before) * 1000)
            time.sleep(VISIT_SECONDS)
    told.send(waits)


class Bench:
    def __init__(self, server: Server, seconds: float) -> None:
        self._port = server.port
        self._seconds = seconds
        pid = server.process.pid
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        self._worker = int(children[0])  # the jobs process is started behind it
        self._request = (
            f"POST /api/v1/links HTTP/1.1\r\nHost: 127.0.0.1:{self._port}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(BODY)}\r\n\r\n{BODY}"
        ).encode()
        self._path = self._create_link()

    def _create_link(self) -> str:
        request = urllib.request.Request(
            f"http://127.0.0.1:{self._port}/api/v1/links",
            BODY.encode(),
            {"content-type": "application/json"},
        )
        with urllib.request.urlopen(request) as answer:  # noqa: S310  our own server
            return f"/{json.load(answer)['short_code']}"

    async def _overload(self, result: Round) -> None:
        clients = await connect(self._port, self._path)
        before = self._cpu_seconds()
        await overload(clients, self._request, TIMES * result.peak, self._seconds, result)
        result.cpu_seconds = self._cpu_seconds() - before
        for client in clients:
            client.close()

    def _cpu_seconds(self) -> float:
        return time.clock_gettime(cpu_clock_of(self._worker))

    def peak(self) -> Round:
        before = self._cpu_seconds()
        result = uvloop.run(drive(self._port, self._request, SATURATING, self._seconds))
        if set(result.statuses) != {201}:
            sys.exit(f"below the peak kurz answered {result.statuses}")
        cpu_us = (self._cpu_seconds() - before) / result.answers * 1e6
        return Round(result.answers / result.seconds, cpu_us)

    def round(self) -> Round:
        result = self.peak()
        ours, theirs = multiprocessing.Pipe(duplex=False)
        arguments = (self._port, self._path, self._worker, self._seconds, theirs)
        visitor = multiprocessing.Process(target=visit, args=arguments)
        visitor.start()
        uvloop.run(self._overload(result))
        result.wait_ms = ours.recv()
        visitor.join()
        return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--json", type=Path, help="write the numbers there")
    options = parser.parse_args()
    os.sched_setaffinity(0, {1})
    kurz = [str(Path(sys.executable).with_name("kurz")), "serve", "--port", "0"]
    with (
        tempfile.TemporaryDirectory(dir=HERE) as temporary,
        started("kurz", kurz, "/api/v1/links", Path(temporary)) as server,
    ):
        bench = Bench(server, options.seconds)
        bench.peak()  # warm-up, not counted
        rounds = []
        for _ in range(options.rounds):
            rounds.append(bench.round())
            told = rounds[-1].told().items()
            print("  ".join(f"{name} {value:g}" for name, value in told), flush=True)
    report(rounds, options.json)


def report(rounds: list[Round], path: Path | None) -> None:
    goodput = statistics.median(item.goodput for item in rounds)
    wait_ms = statistics.median(item.wait_p99_ms for item in rounds)
    print(f"Goodput {goodput:.0%} of the peak (goal: at least {GOODPUT:.0%}).")
    by_cpu = statistics.median(item.goodput_by_cpu for item in rounds)
    print(f"For a second of the worker's CPU: {by_cpu:.0%}.")
    print(f"A redirect waits {wait_ms:.1f} ms of the worker's CPU (p99; goal: {WAIT_MS:.0f} ms).")
    if path is not None:
        numbers = {
            "goodput": round(goodput, 3),
            "goodput_by_cpu": round(by_cpu, 3),
            "redirect_wait_p99_cpu_ms": round(wait_ms, 2),
            "rounds": [item.told() for item in rounds],
        }
        path.write_text(json.dumps(numbers, indent=2) + "\n")


if __name__ == "__main__":
    main()
