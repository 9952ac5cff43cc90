"""The time of day, and instants as the store keeps them: whole microseconds since 1970, UTC."""

import time
from datetime import UTC, datetime, timedelta
from typing import Protocol

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)


class Clock(Protocol):
    def now(self) -> datetime:
        """The present instant, aware, in UTC."""

    def micros(self) -> int:
        """The same instant as `to_micros` has it, for where every microsecond counts."""


class SystemClock:
    def now(self) -> datetime:
        return datetime.now(UTC)

    def micros(self) -> int:
        return time.time_ns() // 1000


def to_micros(instant: datetime) -> int:
    return (instant - EPOCH) // MICROSECOND


def from_micros(micros: int) -> datetime:
    return EPOCH + timedelta(microseconds=micros)


def to_micros_or_none(instant: datetime | None) -> int | None:
    return None if instant is None else to_micros(instant)


def from_micros_or_none(micros: int | None) -> datetime | None:
    return None if micros is None else from_micros(micros)
