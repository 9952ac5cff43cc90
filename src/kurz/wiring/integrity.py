"""Reads everything that kurz stores, to find damage. It changes nothing, and the server may run."""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Protocol

import sqlalchemy as sa

from kurz.clicks.segments import list_segments
from kurz.clicks.verifying import find_damage
from kurz.errors import BackupNotFound, KurzError
from kurz.settings.model import Settings
from kurz.storage.backup.contents import check_copy, counted_offsets
from kurz.storage.engine import sqlite
from kurz.storage.engine.integrity import check_file, failed_pages
from kurz.storage.links.verifying import VerifiedLinks, has_checksums, verify_links
from kurz.storage.portable.reading import freeze
from kurz.storage.schema.links import links
from kurz.wiring.backup_checking import verify_backup
from kurz.wiring.backup_storage import BackupTarget, FileTarget, open_storage
from kurz.wiring.engine import Engine
from kurz.wiring.link_checking import verify_copy
from kurz.wiring.scheduled_backups import list_scheduled

_DAMAGED_STATES = ("XX001", "XX002")  # data and indexes, as far as PostgreSQL notices


class ShowStep(Protocol):
    def __call__(self, what: str, done: int = 0, total: int = 0) -> None:
        """Shows how far a step is; without a total, that it goes on."""


@dataclass
class CheckedDatabase:
    """`problems` are those that the engine has found, in its words. `links`: None if they cannot be
    compared with checksums. `offsets`: how far journals are counted. `has_page_checksums` is of
    PostgreSQL."""

    is_file: bool
    problems: Sequence[str] = ()
    links: VerifiedLinks | None = None
    offsets: Mapping[bytes, int] | None = None
    has_page_checksums: bool | None = None


class CheckedBackup(NamedTuple):
    """`links`: None if they were not compared."""

    name: str
    links: VerifiedLinks | None = None
    error: KurzError | None = None


class DeepCheck:
    def __init__(self, settings: Settings, tell: ShowStep) -> None:
        self._settings = settings
        self._engine = Engine(settings)
        self._tell = tell

    def database(self) -> CheckedDatabase:
        """Raises a `KurzError` if it cannot be used."""
        if self._engine.file is None:
            return asyncio.run(self._engine.run_alone(self._check_server))
        found = CheckedDatabase(is_file=True)
        try:
            with sqlite.create_engine(self._engine.file).connect() as connection:
                connection.exec_driver_sql("BEGIN")  # all sees one state
                self._tell("checking the database file")
                found.problems = check_file(
                    connection, lambda: self._tell("checking the database file")
                )
                self._check_rows(connection, found)
                connection.exec_driver_sql("ROLLBACK")
                # The log has grown meanwhile. Otherwise, the next writer would have to apply it.
                connection.exec_driver_sql("PRAGMA wal_checkpoint(PASSIVE)")
        except Exception as error:
            outage = sqlite.translate(error)
            if outage is None:
                raise
            if not sqlite.is_damage(error):
                raise outage from error
            found.problems = [*found.problems, outage.detail]
        return found

    def _check_server(self, connection: sa.Connection) -> CheckedDatabase:
        found = CheckedDatabase(is_file=False)
        try:
            freeze(connection)
            failed = failed_pages(connection)
            found.has_page_checksums = failed is not None
            if failed:
                found.problems = [f"PostgreSQL has read {failed:,} pages with a wrong checksum"]
            self._check_rows(connection, found)
        except Exception as error:
            origin = error.orig if isinstance(error, sa.exc.DBAPIError) else error
            if getattr(origin, "sqlstate", None) not in _DAMAGED_STATES:
                raise
            found.problems = [*found.problems, str(origin).splitlines()[0]]
        return found

    def _check_rows(self, connection: sa.Connection, found: CheckedDatabase) -> None:
        found.offsets = counted_offsets(connection)
        if has_checksums(connection):
            total = connection.execute(sa.select(sa.func.count()).select_from(links)).scalar_one()
            found.links = verify_links(
                connection, lambda done: self._tell("checking links", done, total)
            )

    def journals(self, offsets: Mapping[bytes, int]) -> tuple[int, list[tuple[str, str]]]:
        """The number of files, and those that are damaged, with the reason. `offsets` were read
        before."""
        paths, damaged = list_segments(self._settings.journal_dir), []
        for number, path in enumerate(paths):
            self._tell("checking journals", number, len(paths))
            with suppress(FileNotFoundError):  # it was counted long ago
                problem = find_damage(path, offsets.get(bytes.fromhex(path.stem), 0))
                if problem is not None:
                    damaged.append((path.name, problem))
        return len(paths), damaged

    def backups(self) -> Iterator[CheckedBackup]:
        """Those in the data folder, and the scheduled ones."""
        folder = self._settings.backup_dir
        for path in sorted(folder.glob("*.db")):
            self._tell(f"checking {path.name}")
            try:
                check_copy(path)
                yield CheckedBackup(str(path), verify_copy(path))
            except KurzError as error:
                yield CheckedBackup(str(path), error=error)
        targets: dict[str, BackupTarget] = {}
        for path in sorted(folder.glob("*.backup")):
            targets[str(path.resolve())] = FileTarget(path)
        with suppress(KurzError, OSError):  # what cannot be read is another finding
            for target in self._scheduled():
                is_file = target.folder is not None
                targets[str(Path(target.shown).resolve()) if is_file else target.shown] = target
        for target in targets.values():
            with suppress(BackupNotFound):  # the server has removed it meanwhile
                yield self._check_backup(target)

    def _scheduled(self) -> list[BackupTarget]:
        storage = open_storage(self._settings)
        return [] if storage is None else [storage.existing(it) for it in list_scheduled(storage)]

    def _check_backup(self, target: BackupTarget) -> CheckedBackup:
        def tell(what: str, done_bytes: int, total_bytes: int) -> None:
            self._tell(f"{what} {target.shown}", done_bytes, total_bytes)

        tell("checking", 0, 0)
        try:
            return CheckedBackup(target.shown, verify_backup(self._settings, target, tell).links)
        except BackupNotFound:
            raise
        except KurzError as error:
            return CheckedBackup(target.shown, error=error)
