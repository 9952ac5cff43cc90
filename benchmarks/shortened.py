"""`kurz` whose fixed times of an hour or a day are minutes, so that a short run sees them pass many
times, and whose caches of SQLite are so small that they are soon full. There are no settings for
them. Only for `soak.py`."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

from kurz.cli.app import main
from kurz.clicks.journal import Journal
from kurz.jobs.clicks import survey
from kurz.storage.engine import sqlite
from kurz.storage.followers import change_log_trimmer
from kurz.storage.followers.change_log_trimmer import ChangeLogTrimmer
from kurz.wiring import engine, reaper

MINUTE = timedelta(minutes=1)
SECOND = timedelta(seconds=1)
ROUND_SECONDS = 20.0


def _shorten(owner: Any, name: str, value: object) -> None:
    assert hasattr(owner, name), f"{owner} has no {name} any more"
    setattr(owner, name, value)


def _shorten_default(function: Any, name: str, value: float) -> None:
    defaults = function.__kwdefaults__
    assert name in defaults, f"{function} has no {name} any more"
    defaults[name] = value


# A segment of a journal ends after a minute, not an hour. It is removed a minute after it is
# counted, not a day; what remembers it goes a minute later, not a week.
_shorten_default(Journal.__init__, "max_seconds", MINUTE.total_seconds())
_shorten(survey, "KEPT", MINUTE)
_shorten(survey, "REMEMBERED", 2 * MINUTE)
_shorten_default(survey.Survey.__init__, "check_seconds", ROUND_SECONDS)
# The change log is kept for two minutes, not a day.
_shorten(change_log_trimmer, "KEPT", 2 * MINUTE)
_shorten_default(ChangeLogTrimmer.__init__, "wake_seconds", ROUND_SECONDS)
# Housekeeping and the other periodic tasks run every 30 seconds, not every hour or day.
_schedules = reaper.periodic_task_schedules
_shorten(reaper, "PERIODIC_TASK_TICK_SECONDS", 5.0)
_shorten(
    reaper,
    "periodic_task_schedules",
    lambda settings: {
        name: replace(
            schedule,
            every=30 * SECOND,
            first_after=30 * SECOND,
            at_least=10 * SECOND,
            at_most=10 * MINUTE,
        )
        for name, schedule in _schedules(settings).items()
    },
)
# A connection keeps 2 MiB of the database, not 32; that of redirects 1 MiB, not 4.
_shorten(engine, "CACHE_KIB", 2 * 1024)
_shorten(engine, "BACKGROUND_CACHE_KIB", 2 * 1024)
_shorten(sqlite, "DIRECT_CACHE_KIB", 1024)
main()
