"""Scheduled backups, over the parts that `core` has opened."""

import re
import secrets
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta

from kurz.jobs.backups import JOB, BackupWork, Made
from kurz.jobs.runner import Runner
from kurz.rounds import rest_after
from kurz.scheduling import Schedule
from kurz.settings.model import Settings
from kurz.storage.jobs.leases import SqlLeaseStore
from kurz.storage.jobs.runs import SqlRunStore
from kurz.transfer.backup.sealing import Seal
from kurz.wiring.backup import BackupWriter
from kurz.wiring.backup_storage import BackupFolder, BackupPrefix, keys_of, open_storage
from kurz.wiring.core import Kurz
from kurz.wiring.engine import Engine

TICK_SECONDS = 60.0
_NAME = "kurz-{:%Y%m%dT%H%M%SZ}{}.backup"
_NAMES = re.compile(r"kurz-[0-9]{8}T[0-9]{6}Z(-[0-9a-f]{8})?\.backup")


@dataclass(frozen=True)
class ScheduledBackups:
    """None: no backups are made by themselves."""

    work: BackupWork | None = None
    runner: Runner | None = None
    every: timedelta = timedelta(0)

    def start(self) -> None:
        if self.runner is not None:
            self.runner.start()

    def request_stop(self) -> None:
        if self.runner is not None:
            self.runner.request_stop()

    def counts(self) -> dict[str, int]:
        if self.work is None or self.runner is None:
            return {}
        ran = self.runner.counts()
        names = ("backup_runs", "backup_failed_runs")
        interval = {"backup_interval_seconds": round(self.every.total_seconds())}
        return {**{name: ran[name] for name in names}, **interval, **self.work.counts()}


class _Gently:
    """Pauses for about as long as the backup has worked since the last call, because this process
    has the same priority as the workers, and also counts clicks."""

    def __init__(self, is_stopping: Callable[[], bool]) -> None:
        self._is_stopping = is_stopping
        self._worked_since = time.monotonic()

    def __call__(self) -> bool:
        time.sleep(rest_after(self._worked_since))
        self._worked_since = time.monotonic()
        return self._is_stopping()


def schedule_of(settings: Settings) -> Schedule:
    """The lease is renewed while a backup makes progress, but not during uploads: they have an
    hour."""
    every = settings.backup_interval
    return Schedule(
        job=JOB,
        every=every,
        first_after=timedelta(minutes=1),
        at_least=min(every, timedelta(minutes=10)),
        at_most=timedelta(hours=1),
    )


def check_backups(settings: Settings) -> None:
    """Raises `SettingRefused` for settings that no backup could be made with. Nothing is
    contacted."""
    open_storage(settings)
    keys = keys_of(settings)
    if settings.backup is not None and keys.are_given:
        Seal(keys)


@asynccontextmanager
async def open_backups(kurz: Kurz) -> AsyncIterator[ScheduledBackups]:
    """They are made from `start` on. A backup that is being made at the end is given up."""
    backups = make_backups(kurz)
    try:
        yield backups
    finally:
        if backups.runner is not None:
            await backups.runner.stop()


def make_backups(kurz: Kurz) -> ScheduledBackups:
    settings, clock = kurz.settings, kurz.engine.job_clock(kurz.clock)
    storage = open_storage(settings)
    if storage is None:
        return ScheduledBackups()
    writer = _writer_of(kurz.engine)

    def create(is_stopping: Callable[[], bool]) -> Made:
        now = clock.now()
        target = storage.target(_name(kurz.engine, now))
        made = writer(settings, is_stopping=_Gently(is_stopping)).create(target, now)
        has_key = made.links is None or made.links.has_key
        return Made(made.size, made.manifest.damaged_links, has_key)

    runs = SqlRunStore(kurz.database, clock)
    leases = SqlLeaseStore(kurz.database, clock)
    work = BackupWork(create, lambda: prune(storage, settings.backup_keep), leases, runs)
    runner = Runner(schedule_of(settings), work, leases, runs, tick_seconds=TICK_SECONDS)
    return ScheduledBackups(work, runner, settings.backup_interval)


def _writer_of(engine: Engine) -> type[BackupWriter]:
    if engine.file is not None:
        return BackupWriter
    from kurz.wiring.portable import PortableWriter  # late: most servers do not need it

    return PortableWriter


def _name(engine: Engine, now: datetime) -> str:
    """If several instances make one at the same time, because one of them was suspended, both are
    kept."""
    return _NAME.format(now, f"-{secrets.token_hex(4)}" if engine.has_instances else "")


def list_scheduled(storage: BackupFolder | BackupPrefix) -> list[str]:
    """The names of scheduled backups, the oldest first."""
    return [name for name in storage.list() if _NAMES.fullmatch(name)]


def prune(storage: BackupFolder | BackupPrefix, kept: int) -> int:
    """Removes all but the newest of the scheduled backups."""
    old = list_scheduled(storage)[:-kept]
    for name in old:
        storage.remove(name)
    return len(old)
