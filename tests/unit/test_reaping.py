"""What settings make of the reaper."""

from dataclasses import fields
from datetime import time, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kurz.errors import SettingRefused
from kurz.links.ending.retention import (
    DEFAULT,
    INTERVALS,
    PRESETS,
    EndedKind,
    RetentionAction,
    RetentionRule,
)
from kurz.scheduling import Schedule, Window
from kurz.settings.load import load
from kurz.settings.model import Settings
from kurz.settings.values import LONGEST, NEVER, choice, duration, show_duration
from kurz.wiring.core import retention_of
from kurz.wiring.reaper import schedule_of


def settings(**variables: str) -> Settings:
    return load({}, {f"KURZ_{name.upper()}": value for name, value in variables.items()}).settings


def test_by_default_the_numbers_are_the_products():
    assert schedule_of(settings()) == Schedule(
        job="reaper",
        every=timedelta(minutes=15),
        first_after=timedelta(minutes=1),
        at_least=timedelta(minutes=10),
        at_most=timedelta(minutes=14),
        window=None,
        is_enabled=True,
    )
    chosen = settings()
    assert chosen.reaper_batch == 1000
    assert chosen.reaper_pause == timedelta(milliseconds=100)
    assert chosen.reaper_longest_run == timedelta(minutes=5)
    assert chosen.code_quarantine == timedelta(days=365)
    assert retention_of(chosen) == {
        EndedKind.TEMPORARY: RetentionRule(timedelta(hours=1), RetentionAction.PURGE),
        EndedKind.PERMANENT: RetentionRule(timedelta(days=7), RetentionAction.TRASH),
        EndedKind.SWEPT: RetentionRule(timedelta(days=90), RetentionAction.ARCHIVE),
        EndedKind.DELETED: RetentionRule(timedelta(days=30), RetentionAction.PURGE),
    }


@pytest.mark.parametrize("preset", PRESETS)
def test_every_preset_can_be_chosen(preset):
    chosen = settings(retention=preset)
    assert retention_of(chosen) == PRESETS[preset]
    assert set(PRESETS[preset]) == set(EndedKind)
    assert schedule_of(chosen).every == INTERVALS[preset]


def test_no_other_preset_can_be():
    (item,) = [item for item in fields(Settings) if item.name == "retention"]
    with pytest.raises(ValueError, match=choice_of(PRESETS)):
        item.metadata["parse"]("other")


def choice_of(words: object) -> str:
    try:
        choice(*words)("")  # type: ignore[misc]
    except ValueError as error:
        return str(error)
    raise AssertionError


def test_each_number_can_be_set_by_itself():
    chosen = settings(
        retention_temporary="2h",
        retention_permanent="never",
        retention_swept="0s",
        retention="keep",
    )
    assert retention_of(chosen) == {
        EndedKind.TEMPORARY: RetentionRule(timedelta(hours=2), RetentionAction.PURGE),
        EndedKind.PERMANENT: RetentionRule(None, RetentionAction.TRASH),
        EndedKind.SWEPT: RetentionRule(timedelta(), RetentionAction.PURGE),
        EndedKind.DELETED: DEFAULT[EndedKind.DELETED],
    }
    schedule = schedule_of(
        settings(
            reaper_interval="1h",
            reaper_at_least="0s",
            reaper_at_most="6m",
            reaper_first_after="2s",
            reaper_window="23:00-01:30",
            reaper_enabled="off",
            retention="archival",
        )
    )
    assert schedule == Schedule(
        job="reaper",
        every=timedelta(hours=1),
        first_after=timedelta(seconds=2),
        at_least=timedelta(),
        at_most=timedelta(minutes=6),
        window=Window(time(23), time(1, 30)),
        is_enabled=False,
    )


@pytest.mark.parametrize(
    ("chosen", "sentence"),
    [
        (
            {"reaper_at_most": "5m", "reaper_at_least": "1m"},
            "KURZ_REAPER_AT_MOST (5m) must be more than KURZ_REAPER_LONGEST_RUN (5m).",
        ),
        (
            {"reaper_longest_run": "20m"},
            "KURZ_REAPER_AT_MOST (14m) must be more than KURZ_REAPER_LONGEST_RUN (20m).",
        ),
        (
            {"reaper_at_least": "15m"},
            "KURZ_REAPER_AT_LEAST (15m) must be no more than KURZ_REAPER_AT_MOST (14m).",
        ),
        (
            {"reaper_interval": "90s"},
            "KURZ_REAPER_AT_LEAST (10m) must be no more than KURZ_REAPER_INTERVAL (90s).",
        ),
    ],
)
def test_contradictions_are_refused_in_one_line(chosen, sentence):
    with pytest.raises(SettingRefused) as refused:
        schedule_of(settings(**chosen))
    assert refused.value.detail == sentence


@given(st.timedeltas(timedelta(), LONGEST).map(lambda it: it - it % timedelta(milliseconds=1)))
def test_a_time_is_shown_as_it_is_written(span):
    if span // timedelta(milliseconds=1) < 10**9:
        assert duration(show_duration(span)) == span


def test_never_is_shown_as_such():
    assert show_duration(NEVER) == "never"
    assert show_duration(timedelta(minutes=90)) == "90m"
    assert show_duration(timedelta(hours=24)) == "1d"
