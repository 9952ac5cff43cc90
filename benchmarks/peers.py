"""What a redirect costs in other URL shorteners that you run on this machine, compared with kurz
and nginx's `return 302`. Pass the address of a short link of each, and the IDs of its processes:
web server, application and database. See docs/explanation/benchmarks.md.

    make bench-peers PEERS="--chhoto http://127.0.0.1:4567/abc --pid chhoto=4711"
"""

import argparse
import asyncio
import contextlib
import json
import os
import signal
import sys
import tempfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from urllib.parse import urlsplit

from redirect_load import COMPILER, HEADS, Codes, Heads, Visitors, drive, fill, make_codes, url_of
from redirect_rows import MODES, WIDTH, Row, same, tell
from redirect_servers import HERE, NGINX, Server, ask, kurz, nginx, tree

PEERS = ("chhoto", "kutt", "shlink", "yourls")
LETTERS = {name.partition(" ")[0]: mode for mode, (name, _) in MODES.items()}
LOOPBACK = ("127.0.0.1", "localhost")
REDIRECTS = (" 301 ", " 302 ", " 303 ", " 307 ", " 308 ")


@dataclass(frozen=True)
class Address:
    """A short link on this machine; `host` is what the server is called."""

    host: str
    port: int
    path: str


def read_address(text: str) -> Address:
    parts = urlsplit(text)
    path = parts.path.removeprefix("/")
    if parts.scheme != "http" or parts.hostname not in LOOPBACK or not path:
        raise argparse.ArgumentTypeError(
            f"{text} is not the address of a short link on this machine, such as"
            " http://127.0.0.1:4567/abc"
        )
    return Address(parts.netloc, parts.port or 80, path)


def read_pids(text: str) -> tuple[str, list[int]]:
    name, _, pids = text.partition("=")
    if name not in PEERS or not all(pid.isdigit() for pid in pids.split(",")):
        raise argparse.ArgumentTypeError(f"{text} is not like chhoto=4711 or yourls=4711,4712")
    return name, [int(pid) for pid in pids.split(",")]


@dataclass(frozen=True)
class Peer(Server):
    """A server that somebody else has started."""

    pids: tuple[int, ...] = ()

    def processes(self) -> Collection[int]:
        return {found for pid in self.pids for found in tree(pid)}


class Bench:
    """Rows for each server and mode, all of which ask for one link."""

    def __init__(
        self, folder: Path, stack: contextlib.ExitStack, modes: Sequence[Visitors]
    ) -> None:
        self._folder = folder
        self._stack = stack
        self._modes = modes

    def nginx(self) -> Iterator[Row]:
        url = url_of("x")
        plain, _ = self._stack.enter_context(nginx(self._folder / "nginx", url))
        yield from self._rows("nginx return 302", plain, "x", " 302 ")

    def kurz(self) -> Iterator[Row]:
        data, [code] = self._folder / "kurz", make_codes(1)
        asyncio.run(fill(data, [code]))
        server = self._stack.enter_context(kurz(data))
        drive(server, Codes(self._folder / "warm-up", [code]), Heads(self._folder / "heads"))
        yield from self._rows("kurz", server, code, " 302 ", is_recorded=True)

    def peer(self, name: str, address: Address, pids: Collection[int]) -> Iterator[Row]:
        server = Peer(address.port, 0, pids=tuple(pids))
        head = f"GET /{address.path} HTTP/1.1\r\nHost: {address.host}\r\n\r\n"
        answer = ask(address.port, head.encode()).decode("latin-1")
        status = answer[8:13]
        if status not in REDIRECTS:
            sys.exit(f"{name} does not redirect /{address.path}:\n{answer}")
        yield from self._rows(name, server, address.path, status, host=address.host)

    def _rows(
        self,
        name: str,
        server: Server,
        code: str,
        status: str,
        *,
        host: str = "go.example.com",
        is_recorded: bool = False,
    ) -> Iterator[Row]:
        short = name.partition(" ")[0]
        codes = Codes(self._folder / f"{short}-code", [code])
        one = Heads(self._folder / f"{short}-head", host=host)
        others = Heads(self._folder / f"{short}-heads", host=host, count=HEADS)
        for mode in self._modes:
            heads = one if mode is Visitors.SAME else others
            title = f"{name}, {MODES[mode][0]}"
            yield Row(
                title, same(server), codes, heads, code, (status,), mode, is_recorded=is_recorded
            )


def print_rows(rows: Sequence[Row], has_pids: Mapping[str, bool]) -> None:
    """CPU of all processes of a server for a request: with kurz, also of counting its click."""
    cpu = {row.name: row.median("cpu_us") for row in rows}
    print(f"{'':{WIDTH}}{'requests/s':>11}{'p50 ms':>8}{'p99 ms':>8}{'CPU µs':>8}{'×':>7}")
    for row in rows:
        per_second, p50, p99 = (row.median(name) for name in ("per_second", "p50_ms", "p99_ms"))
        server, _, mode = row.name.partition(", ")
        base = cpu.get(f"nginx return 302, {mode}")
        known = has_pids.get(server, True)
        used = f"{cpu[row.name]:8.1f}" if known else f"{'–':>8}"
        times = f"{cpu[row.name] / base:7.2f}" if known and base else f"{'–':>7}"
        print(f"{row.name:{WIDTH}}{per_second:11,.0f}{p50:8.2f}{p99:8.2f}{used}{times}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for name in PEERS:
        parser.add_argument(f"--{name}", type=read_address, metavar="ADDRESS")
    parser.add_argument(
        "--pid", type=read_pids, action="append", default=[], metavar="NAME=PID,…", help="CPU time"
    )
    parser.add_argument("--modes", nargs="+", choices=LETTERS, default=list(LETTERS))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=3, help="of each measurement")
    parser.add_argument("--json", type=Path, help="write the numbers there")
    options = parser.parse_args()
    if COMPILER is None:
        sys.exit("This needs a C compiler: apt-get install gcc libc6-dev")
    if len(os.sched_getaffinity(0)) < 2:
        sys.exit("This needs two cores: one for the servers, one for the load.")
    os.sched_setaffinity(0, {1})
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that the servers are stopped
    pids = dict(options.pid)
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(dir=HERE)))
        folder.chmod(0o755)
        bench = Bench(folder, stack, [LETTERS[letter] for letter in options.modes])
        rows = [*(bench.nginx() if NGINX else []), *bench.kurz()]
        for name in PEERS:
            if (address := getattr(options, name)) is not None:
                rows += bench.peer(name, address, pids.get(name, []))
        for number in range(options.rounds):
            for row in rows:
                tell(f"round {number + 1} of {options.rounds}: {row.name}")
                row.measure(options.seconds)
        tell("")
    print_rows(rows, {name: name in pids for name in PEERS})
    if options.json is not None:
        numbers = {row.name: [asdict(found) for found in row.rounds] for row in rows}
        options.json.write_text(json.dumps(numbers, indent=2))


if __name__ == "__main__":
    main()
