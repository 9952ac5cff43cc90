"""Stops calling a service that does not answer, and checks from time to time whether it is back."""

import asyncio
import time
from collections.abc import Callable

import structlog

FAILURES_TO_OPEN = 3  # in a row: a single one may be a pause of this process
OPEN_SECONDS = 1.0
_MOST = 8  # errors that led to each other; more would be a circle

log = structlog.get_logger()


def root_cause(error: BaseException) -> str:
    """The first of the errors that led to this one, for the log: those that libraries and kurz put
    around it say less. A timeout is caused by the end of a task, which says nothing."""
    found = error
    for _ in range(_MOST):
        inner = found.__cause__ or found.__context__
        if inner is None or isinstance(inner, asyncio.CancelledError):
            break
        found = inner
    return repr(found)


class Breaker:
    """Ask `may_try` before using the service, and report the result. After a few failures in a row,
    nobody may try for a second; then one caller may, while the others still may not."""

    def __init__(
        self,
        service: str,
        *,
        failures_to_open: int = FAILURES_TO_OPEN,
        open_seconds: float = OPEN_SECONDS,
        now_seconds: Callable[[], float] = time.monotonic,
    ) -> None:
        self._service = service
        self._failures_to_open = failures_to_open
        self._open_seconds = open_seconds
        self._now_seconds = now_seconds
        self._failures_in_a_row = 0
        self._retry_at = 0.0
        self.failures = 0

    @property
    def is_open(self) -> bool:
        return self._failures_in_a_row >= self._failures_to_open

    def may_try(self) -> bool:
        if not self.is_open:
            return True
        now = self._now_seconds()
        if now < self._retry_at:
            return False
        self._retry_at = now + self._open_seconds  # for all except this one
        return True

    def note_failure(self, error: BaseException) -> None:
        self.failures += 1
        self._failures_in_a_row += 1
        if self._failures_in_a_row == self._failures_to_open:
            self._retry_at = self._now_seconds() + self._open_seconds
            log.warning("service unavailable", service=self._service, cause=root_cause(error))

    def note_success(self) -> None:
        if self.is_open:
            log.info("service available again", service=self._service)
        self._failures_in_a_row = 0
