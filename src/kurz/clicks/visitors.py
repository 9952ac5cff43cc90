"""Visitors without their identity: networks, and hashes under a salt that is used for a day."""

import random
import secrets
from datetime import date, datetime, timedelta
from hashlib import blake2b

import structlog

from kurz.clicks.ports import SaltStore
from kurz.clicks.record import UNKNOWN_VISITOR, trimmed_visit_of
from kurz.clicks.trimming import (
    MAX_USER_AGENT_BYTES,
    address_of,
    language_of,
    network_of,
    origin_of,
)
from kurz.clock import EPOCH, to_micros
from kurz.errors import StoreUnavailable

SALT_BYTES = 32
VISITOR_BYTES = 8
DAY_MICROS = 86_400_000_000
# Instances fetch the next day's salt at different times of the last hour, at the latest five
# minutes before midnight, so that there is time for an outage to pass.
EARLIEST_AHEAD = timedelta(hours=1)
LATEST_AHEAD = timedelta(minutes=5)
PAUSE = timedelta(seconds=StoreUnavailable.retry_after_seconds)

_log = structlog.get_logger(__name__)


class Visitors:
    """Makes the part of a record about the visit. Visitors are unknown (`UNKNOWN_VISITOR`) while
    the installation's salt of the day is: another salt would count people twice.

    `ends_at_micros` is the end of the day of the current salt. To record at or after that, call
    `switch` first; otherwise the next `refresh` does it."""

    def __init__(self, store: SaltStore) -> None:
        self.ends_at_micros = 0
        self.generation = 0  # grows whenever the salt changes
        self._store = store
        self._salts: dict[int, bytes] = {}  # by days since 1970: today, and tomorrow
        self._salt: bytes | None = None
        self._salted = blake2b()  # already fed with the salt, to be copied for each visitor
        self._ahead = random.uniform(1, EARLIEST_AHEAD / LATEST_AHEAD) * LATEST_AHEAD
        self._failed_at: datetime | None = None

    def visit(
        self, client: str, user_agent: bytes, referrer: bytes, language: bytes, flags: int
    ) -> bytes:
        """The visit's part for `encode`, from the client's full address and its headers as sent."""
        return self.trimmed_visit(
            address_of(client), user_agent, origin_of(referrer), language_of(language), flags
        )

    def trimmed_visit(
        self, address: bytes, user_agent: bytes, origin: bytes, tag: bytes, flags: int
    ) -> bytes:
        """Like `visit`. Only the address and the user agent are as they were sent."""
        if self._salt is None or not address:
            visitor = UNKNOWN_VISITOR
        else:
            salted = self._salted.copy()
            salted.update(address + b"\0" + user_agent)
            visitor = salted.digest()
        agent = user_agent[:MAX_USER_AGENT_BYTES]
        return trimmed_visit_of(network_of(address), visitor, flags, agent, origin, tag)

    def switch(self, at_micros: int) -> None:
        """Switches to the salt of the day of that instant, and drops those of other days."""
        today = at_micros // DAY_MICROS
        self.ends_at_micros = (today + 1) * DAY_MICROS
        self._salts = {day: salt for day, salt in self._salts.items() if 0 <= day - today <= 1}
        salt = self._salts.get(today)
        if salt != self._salt:
            self._salt = salt
            self._salted = blake2b(digest_size=VISITOR_BYTES, key=salt or b"")
            self.generation += 1

    async def refresh(self, now: datetime) -> None:
        """To be called once before serving and then every second or so. Fetches today's salt, and
        tomorrow's ahead of midnight. An outage of the store is not raised; the next call tries
        again."""
        at_micros = to_micros(now)
        self.switch(at_micros)
        day = self._missing_day(at_micros)
        if day is None or self._is_pausing(now):
            return
        try:
            await self._fetch(day)
        except StoreUnavailable:
            if self._failed_at is None:
                _log.warning("visitor salt cannot be loaded", day=str(_date(day)))
            self._failed_at = now
            return
        self._failed_at = None
        # The lane may have switched to the next day meanwhile.
        self.switch(max(at_micros, self.ends_at_micros - DAY_MICROS))

    def _missing_day(self, at_micros: int) -> int | None:
        today = at_micros // DAY_MICROS
        if today not in self._salts:
            return today
        tomorrow = (at_micros + self._ahead // timedelta(microseconds=1)) // DAY_MICROS
        return tomorrow if tomorrow not in self._salts else None

    def _is_pausing(self, now: datetime) -> bool:
        # A clock that was set back must not prolong the pause.
        return self._failed_at is not None and timedelta() <= now - self._failed_at < PAUSE

    async def _fetch(self, day: int) -> None:
        salt = await self._store.keep(_date(day), secrets.token_bytes(SALT_BYTES))
        self._salts[day] = salt


def _date(day: int) -> date:
    return EPOCH.date() + timedelta(days=day)
