"""A single failure makes nothing broken; checks come as often as links are used."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from kurz.links.model import DestinationStatus
from kurz.safety.check_schedule import conclude, interval_of, judge, spread, stand
from kurz.safety.checks import Check, Clicks, Destination, Finding, Standing, key_of
from support.checks import FAILING, GONE, INSIDE, NO_NAME_SERVERS, OK, REFUSED, SILENT

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
QUIET = Clicks(before=0, now=0, counted_at=NOW - DAY, clicked_at=NOW - DAY)


def after(*findings: Finding, apart: timedelta = HOUR) -> Standing:
    standing = Standing()
    for number, finding in enumerate(findings):
        standing = judge(standing, finding, NOW + number * apart)
    return standing


@pytest.mark.parametrize(
    ("findings", "status", "http_status"),
    [
        ([OK], "ok", 200),
        ([REFUSED], "unknown", 403),
        ([INSIDE], "not_checked", None),
        ([SILENT], "unknown", None),
        ([FAILING], "unknown", 500),
        ([OK, SILENT], "ok", 200),
        ([OK, SILENT, SILENT], "ok", 200),
        ([OK, SILENT, FAILING, SILENT], "broken", None),
        ([OK, SILENT, SILENT, FAILING], "broken", 500),
        ([OK, SILENT, SILENT, OK, SILENT], "ok", 200),
        ([SILENT, SILENT, REFUSED, SILENT], "unknown", 403),
        ([OK, GONE], "ok", 200),
        ([OK, GONE, GONE], "broken", 404),
        ([OK, GONE, GONE, SILENT], "broken", None),
        ([OK, GONE, GONE, OK], "ok", 200),
        ([OK, INSIDE], "not_checked", None),
        ([NO_NAME_SERVERS], "unknown", None),
        ([OK, NO_NAME_SERVERS, NO_NAME_SERVERS], "ok", 200),
        ([OK, *3 * [NO_NAME_SERVERS]], "unknown", None),
        ([OK, SILENT, SILENT, *9 * [NO_NAME_SERVERS]], "unknown", None),
        ([OK, SILENT, NO_NAME_SERVERS, SILENT], "ok", 200),
        ([OK, *3 * [SILENT], NO_NAME_SERVERS], "broken", None),
    ],
)
def test_what_is_shown(findings, status, http_status):
    standing = after(*findings)
    assert (standing.status, standing.http_status) == (DestinationStatus(status), http_status)


@pytest.mark.parametrize("finding", [SILENT, FAILING, GONE])
@pytest.mark.parametrize("before", [[], [OK]])
def test_who_asks_sees_at_once_that_it_is_broken(before, finding):
    times = [NOW + number * HOUR for number in range(4)]
    found = [Check(at, it) for at, it in zip(times, [*before, finding, SILENT, OK], strict=False)]
    asked = len(before)
    standing = stand(found[: asked + 1], times[asked])
    assert standing.status is DestinationStatus.BROKEN
    assert standing.http_status == finding.http_status
    assert stand(found[: asked + 1]).status is not DestinationStatus.BROKEN  # to others
    assert stand(found[: asked + 2], times[asked]).status is DestinationStatus.BROKEN
    assert stand(found[: asked + 3], times[asked]).status is DestinationStatus.OK


@pytest.mark.parametrize("before", [Standing(), after(OK)])
def test_for_all_others_a_check_that_somebody_asks_for_is_one_like_any_other(before):
    destination = Destination(1, "https://example.com/", before, QUIET, requested_at=1)
    verdict = conclude(destination, FAILING, NOW, NOW)
    assert verdict.standing == judge(before, FAILING, NOW)
    assert verdict.standing.status is not DestinationStatus.BROKEN
    assert abs(verdict.due_at - NOW - 10 * MINUTE) <= MINUTE
    again = replace(destination, standing=verdict.standing, requested_at=None)
    verdict = conclude(again, FAILING, NOW + 10 * MINUTE, NOW + 10 * MINUTE)
    assert abs(verdict.due_at - NOW - 70 * MINUTE) <= 6 * MINUTE  # it may have been some minutes


def test_it_is_broken_only_when_it_has_been_for_an_hour():
    assert after(OK, *9 * [SILENT], apart=7 * MINUTE).status is DestinationStatus.OK
    assert after(OK, *10 * [SILENT], apart=7 * MINUTE).status is DestinationStatus.BROKEN


def test_dead_name_servers_never_make_anything_broken():
    standing = after(OK, *100 * [NO_NAME_SERVERS])
    assert standing.status is DestinationStatus.UNKNOWN
    assert (standing.failures, standing.was_ok) == (0, True)


def test_it_is_remembered_that_it_was_there():
    assert not after(REFUSED).was_ok
    assert after(OK, REFUSED, INSIDE, *3 * [SILENT]).was_ok


@pytest.mark.parametrize(
    ("findings", "expected"),
    [
        ([OK], DAY),
        ([REFUSED], DAY),
        ([INSIDE], 7 * DAY),
        ([OK, SILENT], 10 * MINUTE),
        ([OK, SILENT, SILENT], HOUR),
        ([OK, *3 * [SILENT]], DAY),
        ([OK, *4 * [SILENT]], 2 * DAY),
        ([OK, *5 * [SILENT]], 4 * DAY),
        ([OK, *6 * [SILENT]], 7 * DAY),
        ([OK, *90 * [SILENT]], 7 * DAY),
        ([OK, GONE], 10 * MINUTE),
        ([OK, GONE, GONE], DAY),
        ([NO_NAME_SERVERS], 10 * MINUTE),
        ([OK, *2 * [NO_NAME_SERVERS]], HOUR),
        ([OK, *3 * [NO_NAME_SERVERS]], DAY),
        ([OK, SILENT, *3 * [NO_NAME_SERVERS]], DAY),
    ],
)
def test_when_the_next_check_is_due(findings, expected):
    assert interval_of(after(*findings), QUIET, NOW) == expected


@pytest.mark.parametrize(
    ("clicks", "seconds", "expected"),
    [
        (0, 86_400, DAY),
        (99, 86_400, DAY),
        (100, 86_400, 6 * HOUR),
        (999, 86_400, 6 * HOUR),
        (1000, 86_400, HOUR),
        (42, 3600, HOUR),  # as many, in a 24th of the time
        (24, 6 * 3600, DAY),
        (25, 6 * 3600, 6 * HOUR),
        (4, 1, DAY),  # a moment says nothing
    ],
)
def test_what_is_used_more_is_checked_more_often(clicks, seconds, expected):
    counted_at = NOW - timedelta(seconds=seconds)
    many = Clicks(before=7, now=7 + clicks, counted_at=counted_at, clicked_at=NOW)
    assert interval_of(after(OK), many, NOW) == expected


def test_what_nobody_uses_is_checked_weekly():
    for days, expected in ((89, DAY), (90, 7 * DAY)):
        idle = Clicks(before=5, now=5, counted_at=NOW - DAY, clicked_at=NOW - days * DAY)
        assert interval_of(after(OK), idle, NOW) == expected


def test_a_click_wakes_it_up():
    old = NOW - 200 * DAY
    idle = Destination(1, "https://example.com/", after(OK), Clicks(5, 5, old, old))
    used = Destination(1, "https://example.com/", after(OK), Clicks(5, 6, old, old))
    assert conclude(idle, OK, NOW, NOW).due_at - NOW > 6 * DAY
    assert conclude(idle, OK, NOW, NOW).clicked_at == old
    assert conclude(used, OK, NOW, NOW).due_at - NOW < 2 * DAY
    assert conclude(used, OK, NOW, NOW).clicked_at == NOW


def test_checks_spread():
    spans = [spread(DAY, key_of(f"https://example.com/{number}")) for number in range(1000)]
    assert len(set(spans)) == 1000
    assert 0.9 * DAY <= min(spans) < 0.92 * DAY
    assert 1.08 * DAY < max(spans) <= 1.1 * DAY
    assert spread(DAY, key_of("x")) == spread(DAY, key_of("x"))
