"""The second tier: what instances share about codes, in Redis or Valkey."""

import asyncio
import time
from collections import deque
from collections.abc import Sequence

from kurz.breaker import Breaker
from kurz.cache.client import Call, RedisClient, RedisUnavailable, Script
from kurz.cache.codec import (
    FORMAT,
    WrongKey,
    decode,
    encode_absence,
    encode_change,
    encode_route,
    is_sound,
    reason_of,
)
from kurz.clock import Clock
from kurz.freshness.routes import Cached, Change, Route

ROUTE_MILLIS = 3_600_000  # of an active link, and of an ended one
ABSENCE_MILLIS = 30_000
WRITTEN_MILLIS = 3_600_000  # for a worker that is cut off from the database and has a stale feed

MAX_PENDING = 10_000  # writes, some 5 MB; more are dropped
MAX_BATCH = 100  # in one round trip, which takes the server 3 ms
RENEW_SECONDS = 1.0  # between two renewals of connections
FLUSH_SECONDS = 0.2  # that a stopping process spends on pending writes

# A newer value stays. For one link, versions are compared, otherwise positions of the change log.
# After a write marker, only values that are not older are accepted, and none of another link.
SCRIPT = Script.of("""
local link_id, version = tonumber(ARGV[3]), tonumber(ARGV[4])
local position, is_write_marker = tonumber(ARGV[5]), ARGV[6] == '1'
local there = redis.call('GET', KEYS[1])
local is_json, old = pcall(cjson.decode, there or '')
if is_json and type(old) == 'table' and old.key == KEYS[1] and old.format == tonumber(ARGV[7])
    and type(old.link_id) == 'number' and type(old.version) == 'number'
    and type(old.position) == 'number' then
  local is_same = old.link_id == link_id and link_id > 0
  if is_write_marker then
    if is_same and old.version >= version then return 0 end
  elseif old.reason == 'written' then
    if not is_same or version < old.version then return 0 end
  elseif is_same and old.version ~= version then
    if version < old.version then return 0 end
  elseif position < old.position then
    return 0
  end
end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1
""")

Pending = tuple[int, str, Route | None, int] | Change
Wanted = tuple[str, asyncio.Future[Cached | None]]


class RedisRouteCache:
    """The `RouteCache` in Redis. The namespace separates installations that share a Redis."""

    def __init__(
        self,
        client: RedisClient,
        namespace: str,
        clock: Clock,
        *,
        breaker: Breaker | None = None,
        max_pending: int = MAX_PENDING,
    ) -> None:
        self._client = client
        # With the format, so that versions of kurz with another one do not see these values.
        self._prefix = f"kurz:{namespace}:route-{FORMAT}:"
        self._clock = clock
        self._breaker = breaker or Breaker("Redis")
        self._max_pending = max_pending
        self._pending: deque[Pending] = deque()
        self._writer: asyncio.Task[None] | None = None
        self._wanted: list[Wanted] = []
        self._readers: set[asyncio.Task[None]] = set()
        self._wrong_keys = 0
        self._renewed_at = float("-inf")
        self.hits = 0
        self.misses = 0
        self.errors = 0  # no answer, or a wrong one; including writes
        self.refused = 0  # values that failed the check
        self.writes = 0
        self.dropped = 0  # writes that were not even tried

    async def find(self, workspace_id: int, short_code: str) -> Cached | None:
        """Lookups of one turn of the event loop share a round trip."""
        if not self._breaker.may_try():
            self.misses += 1
            return None
        answer: asyncio.Future[Cached | None] = asyncio.get_running_loop().create_future()
        self._wanted.append((self._key(workspace_id, short_code), answer))
        if len(self._wanted) == 1:
            asyncio.get_running_loop().call_soon(self._ask)
        return await answer

    def keep(self, workspace_id: int, short_code: str, found: Route | None, position: int) -> None:
        self._put((workspace_id, short_code, found, position))

    def forget(self, changes: Sequence[Change]) -> None:
        """The first version of a link follows only an absence, which readers check against the
        changes they have read."""
        for change in changes:
            if change.link_id and change.version > 1:
                self._put(change)

    def counts(self) -> dict[str, int]:
        return {
            "cache_hits": self.hits,
            "cache_misses": self.misses,
            "cache_errors": self.errors,
            "cache_refused": self.refused,
            "cache_writes": self.writes,
            "cache_dropped": self.dropped,
            "cache_out": int(self._breaker.is_open),
        }

    async def close(self) -> None:
        """Writes what is pending, if that is fast. The client is closed by its opener."""
        if self._writer is not None:
            await asyncio.wait((self._writer,), timeout=FLUSH_SECONDS)
            self._writer.cancel()
            await asyncio.wait((self._writer,))
        for reader in self._readers:
            reader.cancel()

    def _ask(self) -> None:
        for first in range(0, len(self._wanted), MAX_BATCH):
            task = asyncio.create_task(self._read(self._wanted[first : first + MAX_BATCH]))
            self._readers.add(task)
            task.add_done_callback(self._readers.discard)
        self._wanted = []

    async def _read(self, wanted: Sequence[Wanted]) -> None:
        try:
            found = await self._client.get_all([_encoded(key) for key, _ in wanted])
            failures = [text for text in found if isinstance(text, RedisUnavailable)]
            self._note(len(found), failures)
            wrong_keys = self._wrong_keys
            for (key, answer), text in zip(wanted, found, strict=True):
                cached = self._believed(key, text)
                if not answer.done():  # the caller has not left
                    answer.set_result(cached)
            if self._wrong_keys > wrong_keys:
                await self._start_afresh()
        finally:
            for _, answer in wanted:
                if not answer.done():
                    answer.set_result(None)

    def _believed(self, key: str, text: bytes | RedisUnavailable | None) -> Cached | None:
        if text is None:
            self.misses += 1
        elif not isinstance(text, RedisUnavailable):
            try:
                found = decode(text, key)
            except (WrongKey, TypeError):  # or no text at all, but the answer to a script
                self.refused += 1
                self._wrong_keys += 1
            except (ValueError, RecursionError):
                self.refused += 1
            else:
                self.hits += 1
                return found
        return None

    def _put(self, pending: Pending) -> None:
        if len(self._pending) >= self._max_pending:
            self.dropped += 1
            return
        self._pending.append(pending)
        if self._writer is None or self._writer.done():
            self._writer = asyncio.create_task(self._write())

    async def _write(self) -> None:
        while self._pending:
            if not self._breaker.may_try():
                self.dropped += len(self._pending)
                self._pending.clear()
                return
            size = min(len(self._pending), MAX_BATCH)
            batch = [self._call(self._pending.popleft()) for _ in range(size)]
            calls = [call for call in batch if call is not None]
            self.refused += size - len(calls)
            if calls:
                failures = await self._client.run_all(SCRIPT, calls)
                self.writes += len(calls) - len(failures)
                self._note(len(calls), failures)

    def _note(self, asked: int, failures: Sequence[RedisUnavailable]) -> None:
        """Notes the result of a round trip. One answering server of several is enough: the client
        skips the others."""
        self.errors += len(failures)
        outages = [failure for failure in failures if failure.is_outage]
        if len(outages) == asked:
            self._breaker.note_failure(outages[0])
        else:
            self._breaker.note_success()

    def _call(self, pending: Pending) -> Call | None:
        """The arguments of the script; None: not a value that a reader would accept."""
        if isinstance(pending, Change):
            key = self._key(pending.workspace_id, pending.short_code)
            text = encode_change(key, pending)
            return _call(
                key, text, WRITTEN_MILLIS, pending.link_id, pending.version, is_write_marker=True
            )
        workspace_id, short_code, route, position = pending
        key = self._key(workspace_id, short_code)
        if route is None:
            return _call(key, encode_absence(key, position), ABSENCE_MILLIS, position=position)
        if not is_sound(route.location):
            return None
        now = self._clock.micros()
        reason = reason_of(route, now)
        millis = ROUTE_MILLIS
        if reason is None and route.expires_at is not None:
            millis = min(millis, max((route.expires_at - now) // 1000, 1))
        text = encode_route(key, route, position, reason)
        return _call(key, text, millis, route.link_id, route.version, position)

    def _key(self, workspace_id: int, short_code: str) -> str:
        return f"{self._prefix}{workspace_id}/{short_code}"

    async def _start_afresh(self) -> None:
        """After an answer to another question: later ones may be shifted too. Or values are under
        wrong keys, perhaps many: then new connections do not help."""
        now = time.monotonic()
        if now - self._renewed_at < RENEW_SECONDS:
            return
        self._renewed_at = now
        try:
            await self._client.disconnect()
        except RedisUnavailable as error:
            self.errors += 1
            self._breaker.note_failure(error)


def _call(
    key: str,
    text: str,
    millis: int,
    link_id: int = 0,
    version: int = 0,
    position: int = 0,
    *,
    is_write_marker: bool = False,
) -> Call:
    return _encoded(key), (text, millis, link_id, version, position, int(is_write_marker), FORMAT)


def _encoded(key: str) -> bytes:
    return key.encode(errors="surrogatepass")  # a code may be any requested text
