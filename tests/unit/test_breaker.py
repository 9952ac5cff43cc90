"""A service that does not answer is left alone, and tried again now and then."""

import asyncio

import pytest
from structlog.testing import capture_logs

from kurz.breaker import FAILURES_TO_OPEN, OPEN_SECONDS, Breaker, root_cause

OUTAGE = TimeoutError()


class Seconds:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def seconds() -> Seconds:
    return Seconds()


@pytest.fixture
def breaker(seconds: Seconds) -> Breaker:
    return Breaker("test", now_seconds=seconds)


def open_it(breaker: Breaker) -> None:
    for _ in range(FAILURES_TO_OPEN):
        assert breaker.may_try()
        breaker.note_failure(OUTAGE)


def test_a_few_failures_in_a_row_open_it(breaker):
    open_it(breaker)
    assert breaker.is_open
    assert not breaker.may_try()


def test_a_success_in_between_begins_the_count_anew(breaker):
    for _ in range(5):
        for _ in range(FAILURES_TO_OPEN - 1):
            breaker.note_failure(OUTAGE)
        breaker.note_success()
    assert not breaker.is_open
    assert breaker.failures == 5 * (FAILURES_TO_OPEN - 1)


def test_one_may_try_every_so_often_and_the_others_not(breaker, seconds):
    open_it(breaker)
    for _ in range(3):
        seconds.now += OPEN_SECONDS
        assert [breaker.may_try() for _ in range(3)] == [True, False, False]
        breaker.note_failure(OUTAGE)


def test_one_that_never_says_what_came_of_it_does_not_close_the_way(breaker, seconds):
    open_it(breaker)
    seconds.now += OPEN_SECONDS
    assert breaker.may_try()
    seconds.now += OPEN_SECONDS
    assert breaker.may_try()


def test_its_success_lets_everybody_in_again(breaker, seconds):
    open_it(breaker)
    seconds.now += OPEN_SECONDS
    assert breaker.may_try()
    breaker.note_success()
    assert not breaker.is_open
    assert all(breaker.may_try() for _ in range(3))


async def test_the_log_has_the_first_of_all_errors(breaker):
    with capture_logs() as logs:
        for _ in range(FAILURES_TO_OPEN):
            breaker.note_failure(wrapped(ConnectionRefusedError(111, "Connect call failed")))
    [line] = logs
    assert line["cause"] == "ConnectionRefusedError(111, 'Connect call failed')"
    with pytest.raises(TimeoutError) as late:
        await asyncio.wait_for(asyncio.sleep(1), 0)
    assert root_cause(wrapped(late.value)) == "TimeoutError()"
    one, other = ValueError("one"), ValueError("other")
    one.__cause__, other.__cause__ = other, one
    assert root_cause(one)  # it ends


def wrapped(error: Exception) -> Exception:
    """As libraries do it, and kurz after them."""
    try:
        try:
            raise error
        except Exception:  # noqa: BLE001
            raise OSError("cannot connect")  # noqa: B904
    except OSError as outer:
        unavailable = RuntimeError("unavailable")
        unavailable.__cause__ = outer
        return unavailable
