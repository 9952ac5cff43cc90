"""When the next process starts after one has ended."""

from kurz.server.slots import Backoff


def test_the_first_time_at_once_then_longer_and_longer_up_to_ten_seconds():
    backoff = Backoff()
    pauses = [backoff.pause_seconds(0.5) for _ in range(12)]
    assert pauses[:5] == [0, 0.1, 0.2, 0.4, 0.8]
    assert pauses[-1] == 10
    assert pauses == sorted(pauses)


def test_whoever_was_up_for_ten_seconds_starts_at_once_again():
    backoff = Backoff()
    for _ in range(5):
        backoff.pause_seconds(0.5)
    assert [backoff.pause_seconds(seconds) for seconds in (10, 0.5, 9.9)] == [0, 0.1, 0.2]


def test_a_thousand_failures_are_no_overflow():
    backoff = Backoff()
    assert [backoff.pause_seconds(0) for _ in range(2000)][-1] == 10


def test_while_something_else_is_out_no_pause_is_longer_than_a_second():
    backoff = Backoff()
    pauses = [backoff.pause_seconds(5, is_outage=True) for _ in range(12)]
    assert pauses[:5] == [0, 0.1, 0.2, 0.4, 0.8]
    assert pauses[-1] == 1
