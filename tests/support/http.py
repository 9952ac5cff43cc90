"""HTTP to the byte: raw connections, what comes back over them, and links in every state to ask
for."""

import asyncio
import re
import secrets
import shutil
import socket
import struct
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple, Self, cast
from uuid import uuid4

from kurz.clicks.visitors import SALT_BYTES
from kurz.links.model import Draft, Status
from kurz.people.passwords import Passwords
from kurz.settings.model import Settings
from kurz.storage.clicks.salts import SqlSaltStore
from kurz.wiring.core import open_kurz
from kurz.wiring.engine import prepare
from servers.postgres import PostgresServer
from support.clock import FrozenClock
from support.patience import PATIENCE
from support.people import People
from support.program import Program
from support.wire import socket_address

HOST = b"kurz.test"
BASE_URL = "http://kurz.test"
URL = "https://example.com/a?own=1#part"
EMAIL = "person@example.com"
SECONDS = 20.0  # until something that must come is missed
END = b"\r\n\r\n"
_VARIABLE = re.compile(rb"(?m)^(date|x-request-id): [^\r]*\r$")
_NONCE = re.compile(rb"(nonce(?:-|=\"))[\w-]{22}")  # of the dashboard's pages

LIVE = {
    "live": {},
    "moved": {"redirect_status": 301},
    "kept": {"redirect_status": 308},
    "passes": {"forward_query": True},
    "ending": {"expires_in_seconds": 30 * 86400},
    "limited": {"max_clicks": 1_000_000},
}
DEAD = {
    "paused": Status.PAUSED,
    "deleted": Status.DELETED,
    "banned": Status.BANNED,
}


class Answer(NamedTuple):
    status: int
    head: bytes
    body: bytes

    def header(self, name: str) -> str | None:
        found = re.search(rb"(?im)^%s: ([^\r]*)\r$" % name.encode(), self.head)
        return found[1].decode() if found else None

    @property
    def closes(self) -> bool:
        return self.header("connection") == "close"


class Line:
    """A connection to a server. What comes in is kept in `received`."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._unread = b""
        self.received = bytearray()

    @classmethod
    async def open(
        cls, program: Program, *, buffer_bytes: int | None = None, reads: bool = True
    ) -> Self:
        """`buffer_bytes` bounds what the system takes in before it is read; `reads` False: nobody
        ever reads it."""
        family, address = socket_address(program.host, program.port)
        raw = socket.socket(family)
        raw.settimeout(0)
        if buffer_bytes is not None:
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer_bytes)
        await asyncio.get_running_loop().sock_connect(raw, address)
        line = cls(*await asyncio.open_connection(sock=raw))
        if not reads:
            # It reads as well, though its type does not say so.
            cast("asyncio.ReadTransport", line._writer.transport).pause_reading()
        return line

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self._writer.transport.abort()

    async def send(self, data: bytes) -> None:
        self._writer.write(data)
        await self._writer.drain()

    def end(self) -> None:
        """Sends no more, but reads on."""
        if self._writer.can_write_eof() and not self._writer.transport.is_closing():
            self._writer.write_eof()

    def reset(self) -> None:
        raw = self._writer.get_extra_info("socket")
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._writer.transport.abort()

    async def ask(self, request: bytes) -> Answer:
        """Sends a request; its answer must come."""
        await self.send(request)
        answer = await self.answer(has_body=not request.startswith(b"HEAD "))
        assert answer is not None, (request[:200], self.received[-500:])
        return answer

    async def answer(self, *, has_body: bool = True, seconds: float = SECONDS) -> Answer | None:
        """The next one; None where the server closes instead. `TimeoutError` where it does
        neither."""
        async with asyncio.timeout(seconds):
            while END not in self._unread:
                if not await self._more():
                    return None
            head, _, rest = self._unread.partition(END)
            head += b"\r\n"
            status = int(head[9:12])
            length = re.search(rb"(?m)^content-length: (\d+)\r$", head) if has_body else None
            size = int(length[1]) if length and status >= 200 else 0
            while len(rest) < size:
                if not await self._more():
                    return None
                rest = self._unread.partition(END)[2]
            self._unread = rest[size:]
            return Answer(status, head, rest[:size])

    async def rest(self, seconds: float = SECONDS) -> bytes:
        """All that comes until the server closes; `TimeoutError` where it does not."""
        async with asyncio.timeout(seconds):
            while await self._more():
                pass
        rest, self._unread = self._unread, b""
        return rest

    async def _more(self) -> bool:
        try:
            piece = await self._reader.read(65_536)
        except ConnectionError:
            piece = b""
        self._unread += piece
        self.received += piece
        return bool(piece)


def get(target: str = "/live", *fields: str, method: str = "GET", version: str = "1.1") -> bytes:
    """A request of a browser's kind, with more header fields."""
    return request(f"{method} {target} HTTP/{version}", f"Host: {HOST.decode()}", *fields)


def request(*lines: str, body: bytes = b"") -> bytes:
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + body


def comparable(received: bytes) -> bytes:
    """Without what differs between two answers to the same request."""
    return _NONCE.sub(rb"\1*", _VARIABLE.sub(rb"\1: *\r", received))


def from_where_they_differ(on: bytes, off: bytes) -> tuple[bytes, bytes]:
    """Parts of two answers."""
    same = next((n for n, pair in enumerate(zip(on, off, strict=False)) if len(set(pair)) > 1), 0)
    start = max(same - 100, 0)
    return on[start : start + 500], off[start : start + 500]


async def converse(program: Program, requests: Iterable[bytes], patience: float) -> bytes:
    """What comes back for requests sent one after the other over one connection, each after the
    answer to the one before it, until the server closes it."""
    async with await Line.open(program) as line:
        for data in requests:
            try:
                await line.send(data)
                answer = await line.answer(has_body=not data.startswith(b"HEAD "), seconds=patience)
            except TimeoutError:  # it wants more
                continue
            except ConnectionError:
                break
            if answer is None or answer.closes:
                break
        else:
            line.end()
            await line.rest()
            return comparable(_without_last_close(bytes(line.received)))
        await line.rest()
        return comparable(bytes(line.received))


def _without_last_close(received: bytes) -> bytes:
    """The last answer may be written before or after the server sees that its client has ended.
    Only then does it say that it closes the connection."""
    before, start, last = received.rpartition(b"HTTP/1.1 ")
    return before + start + last.replace(b"connection: close\r\n", b"", 1)


def check_log(program: Program) -> None:
    """Whatever clients did, it was no mistake of the server's."""
    log = program.log()
    assert '"exception"' not in log
    assert "Traceback" not in log
    mistakes = [line for line in log.splitlines() if '"level": "error"' in line]
    assert not mistakes, mistakes[:5]


def start_pair(
    folder: Path, postgres: PostgresServer | None = None, **environment: str
) -> dict[str, Program]:
    """Two programs over equal data: with the fast lane (`on`) and without (`off`). Embedded, or
    each with a database of its own."""
    urls = dict[str, str]()
    if postgres is None:
        asyncio.run(make_world(folder / "on"))
        shutil.copytree(folder / "on", folder / "off")
    else:
        on, off = f"kurz_{uuid4().hex}", f"kurz_{uuid4().hex}"
        postgres.create_database(on)
        asyncio.run(make_world(folder / "on", postgres.url(on)))
        postgres.create_database(off, template=on)
        urls = {"on": postgres.url(on), "off": postgres.url(off)}

    def start(lane: str) -> Program:
        own = {"KURZ_DATA_DIR": str(folder / lane), "KURZ_FAST_LANE": lane}
        if urls:
            own["KURZ_DATABASE_URL"] = urls[lane]
        common = {"KURZ_BASE_URL": BASE_URL, "KURZ_ACCESS": "public"}
        return Program({**common, **own, **environment}, folder / f"log-{lane}").start()

    with ThreadPoolExecutor() as threads:
        return dict(zip(("on", "off"), threads.map(start, ("on", "off")), strict=True))


async def make_world(folder: Path, database_url: str | None = None) -> None:
    """A data folder or a database with links in every state, an account and a workspace. In its
    copies, visitors have the same hashes."""
    settings = Settings(data_dir=folder, base_url=BASE_URL, database_url=database_url, **PATIENCE)
    await prepare(settings, upgrades_postgres=False)
    clock = FrozenClock(datetime.now(UTC) - timedelta(days=1))
    async with open_kurz(settings, clock, Passwords(cost=4)) as kurz:
        salts = SqlSaltStore(kurz.database)
        for day in (datetime.now(UTC), datetime.now(UTC) + timedelta(days=1)):
            await salts.keep(day.date(), secrets.token_bytes(SALT_BYTES))
        people = People(kurz)
        team = await kurz.teams.create((await people.add(EMAIL)).id, "Team", "team")
        for code, fields in LIVE.items():
            await kurz.links.create(Draft(original_url=URL, custom_code=code, **fields))  # type: ignore[arg-type]
        await kurz.links.create(
            Draft(original_url=URL + "-team", workspace_id=team.id, custom_code="live")
        )
        await kurz.links.create(
            Draft(original_url=URL, custom_code="expired", expires_in_seconds=60)
        )
        for number in range(20):
            await kurz.links.create(
                Draft(original_url=f"{URL}-{number}", custom_code=f"live-{number}")
            )
        for code, status in DEAD.items():
            made = await kurz.links.create(Draft(original_url=URL, custom_code=code))
            await kurz.store.update(made.link, {"status": status}, clock.now())
