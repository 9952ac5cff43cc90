"""Links from their first instant to their purge: what they should answer, and who asks."""

import asyncio
import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from kurz.links.ending.retention import EndedKind, Retention, RetentionAction
from kurz.links.model import Link
from kurz.storage.ending.reaping import SqlReaperStore

Ask = Callable[[str], Awaitable[int]]
"""The status that comes back for a path."""


class ClockedReaperStore(SqlReaperStore):
    """Goes by the test's clock on PostgreSQL too, whose own cannot be set."""

    async def now(self) -> datetime:
        return self._clock.now()


@dataclass
class Life:
    """What should be true of a link, by the rules alone."""

    link: Link
    is_temporary: bool
    expires_at: datetime | None
    deleted_at: datetime | None = None
    swept_at: datetime | None = None
    is_gone: bool = False

    @property
    def path(self) -> str:
        return f"/{self.link.short_code}"

    @property
    def is_in_trash(self) -> bool:
        return self.deleted_at is not None or self.swept_at is not None

    def is_expired(self, now: datetime) -> bool:
        return self.expires_at is not None and self.expires_at <= now

    def status(self, now: datetime) -> int:
        if self.is_gone or self.deleted_at is not None:
            return 404
        return 410 if self.is_expired(now) else 302

    def ended(self, now: datetime) -> tuple[EndedKind, datetime] | None:
        """As what it waits for the reaper, and since when."""
        if self.is_gone:
            return None
        if self.deleted_at is not None:
            return EndedKind.DELETED, self.deleted_at
        if self.swept_at is not None:
            return EndedKind.SWEPT, self.swept_at
        if self.expires_at is None or self.expires_at > now:
            return None
        return EndedKind.TEMPORARY if self.is_temporary else EndedKind.PERMANENT, self.expires_at

    def reap(self, now: datetime, retention: Retention) -> None:
        """With an archive."""
        found = self.ended(now)
        while found is not None:
            ended, since = found
            rule = retention[ended]
            if rule.after is None or since + rule.after > now:
                return
            if rule.action is RetentionAction.TRASH:
                self.swept_at = now
            else:
                self.is_gone = True
            found = self.ended(now)

    def restore(self, now: datetime, expires_at: datetime | None) -> None:
        if expires_at is not None or self.is_expired(now):
            self.extend(expires_at)
        self.deleted_at = self.swept_at = None

    def extend(self, expires_at: datetime | None) -> None:
        self.expires_at = expires_at
        self.is_temporary &= expires_at is not None

    def turns(self, now: datetime, retention: Retention) -> list[datetime]:
        """Instants to come at which something about it is different."""
        found = [self.expires_at]
        if (ended := self.ended(now)) is not None:
            after = retention[ended[0]].after
            found.append(None if after is None else ended[1] + after)
        return [instant for instant in found if instant is not None and instant >= now]


class LaneVisitor:
    """A connection to a server."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def ask(self, path: str) -> int:
        if self._streams is None:
            self._streams = await asyncio.open_connection("127.0.0.1", self._port)
        reader, writer = self._streams
        writer.write(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nUser-Agent: test\r\n\r\n".encode())
        head = await reader.readuntil(b"\r\n\r\n")
        length = re.search(rb"(?i)\r\ncontent-length: (\d+)\r\n", head)
        assert length is not None
        await reader.readexactly(int(length[1]))
        return int(head[9:12])

    def close(self) -> None:
        if self._streams is not None:
            self._streams[1].close()


class Crowd:
    """All who visit, by the names of the ways that they take."""

    def __init__(self, visitors: dict[str, Ask]) -> None:
        self._visitors = visitors
        self.visits = 0

    async def visit(self, lives: Sequence[Life]) -> dict[tuple[str, str], int]:
        """The statuses that came back, by ways and paths."""
        statuses = {}
        for life in lives:
            for way, ask in self._visitors.items():
                statuses[way, life.path] = await ask(life.path)
                self.visits += 1
        return statuses

    def expect(self, lives: Sequence[Life], now: datetime) -> dict[tuple[str, str], int]:
        return {(way, life.path): life.status(now) for life in lives for way in self._visitors}
