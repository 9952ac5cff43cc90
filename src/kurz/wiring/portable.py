"""Makes portable backups, from either engine."""

import asyncio
from collections import Counter
from collections.abc import Callable
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import BinaryIO

import msgspec
import sqlalchemy as sa

from kurz.errors import BackupBroken, BackupRefused
from kurz.jobs.backups import STOPPED
from kurz.storage.backup.contents import contents_of, counted_offsets
from kurz.storage.backup.numbers import read_numbers
from kurz.storage.backup.snapshot import copy_database, open_copy
from kurz.storage.links.verifying import VerifiedLinks, verify_links
from kurz.storage.portable.reading import (
    TableReader,
    database_bytes,
    freeze,
    require_known_schema,
)
from kurz.storage.portable.tables import CARRIED
from kurz.transfer.backup.manifest import PORTABLE, Manifest
from kurz.transfer.backup.opening import PackedFile, read_pack
from kurz.transfer.backup.packing import DATABASE, TABLES, Pack, packed
from kurz.transfer.backup.rows import (
    MAX_ROWS_BYTES,
    MAX_TABLES_BYTES,
    ROWS,
    BatchSize,
    Tables,
    decode_rows,
    decode_tables,
    encode_rows,
    encode_tables,
    name_of,
    table_of,
)
from kurz.transfer.backup.sealing import BackupKeys, Seal, unsealed
from kurz.wiring.backup import (
    BackupWriter,
    MadeBackup,
    add_files,
    damaged_of,
    describe,
    find_journals,
    staging,
    used_bytes,
)
from kurz.wiring.backup_storage import BackupTarget
from kurz.wiring.engine import Engine
from kurz.wiring.link_checking import RowChecker


class PortableWriter(BackupWriter):
    """Rows are packed as they are read. On SQLite they are read from a copy, so that the log of the
    database does not grow meanwhile."""

    def check_space(self, target: BackupTarget) -> None:
        """A server's database takes no space here."""
        if Engine(self.settings).file is not None:
            super().check_space(target)
        elif target.folder is None:  # it is packed here first
            self.settings.backup_dir.mkdir(mode=0o700, parents=True, exist_ok=True)

    def create_checked(self, target: BackupTarget, seal: Seal | None, now: datetime) -> MadeBackup:
        engine = Engine(self.settings)
        if engine.file is None:

            def read(query: Callable[[sa.Connection], None]) -> None:
                asyncio.run(engine.run_alone(query))

            return self._store(target, seal, now, read)
        with staging(self.settings.backup_dir) as folder:
            copy = folder / DATABASE
            tell = partial(self.tell, "copying", total_bytes=used_bytes(engine.file))
            copy_database(engine.file, copy, self.is_stopping, tell)

            def read_copy(query: Callable[[sa.Connection], None]) -> None:
                with open_copy(copy) as connection:
                    query(connection)

            return self._store(target, seal, now, read_copy)

    def _store(
        self,
        target: BackupTarget,
        seal: Seal | None,
        now: datetime,
        read: Callable[[Callable[[sa.Connection], None]], None],
    ) -> MadeBackup:
        packing = _Packing(self, now)

        def write(file: BinaryIO) -> None:
            if seal is None:
                read(lambda connection: packing.pack(connection, file))
            else:
                with seal.sealed(file) as inner:
                    read(lambda connection: packing.pack(connection, inner))

        keys = BackupKeys() if seal is None else seal.own_keys
        size = target.store(write, partial(packing.check, keys))
        return MadeBackup(packing.manifest, target.shown, size, packing.links)


class _Packing:
    """One backup: `pack`, then `check`."""

    manifest: Manifest  # these two once `pack` has begun
    links: VerifiedLinks

    def __init__(self, writer: BackupWriter, now: datetime) -> None:
        self._writer = writer
        self._now = now
        self._done = 0
        self._rows = Counter[str]()

    def pack(self, connection: sa.Connection, file: BinaryIO) -> None:
        """The journals are found after the state of the database is fixed: what it has not counted
        is in them."""
        freeze(connection)
        require_known_schema(connection)
        settings = self._writer.settings
        journals = find_journals(settings.journal_dir, counted_offsets(connection))
        size = database_bytes(connection)
        self.links = verify_links(connection, self._go_on)
        contents = contents_of(connection)
        described = describe(settings, contents, size, journals, self._now, self.links)
        self.manifest = manifest = msgspec.structs.replace(described, kind=PORTABLE)
        with packed(file, manifest) as pack:
            columns = {str(it.name): [str(one.name) for one in it.columns] for it in CARRIED}
            tables = Tables(columns, read_numbers(connection))
            pack.add_bytes(TABLES, encode_tables(tables), self._now.timestamp())
            for table in CARRIED:
                self._pack_rows(connection, table, pack)
            add_files(pack, settings, manifest, journals)

    def _pack_rows(self, connection: sa.Connection, table: sa.Table, pack: Pack) -> None:
        reader, size, number = TableReader(connection, table), BatchSize(), 0
        while rows := reader.next(size.rows):
            data = encode_rows(rows)
            pack.add_bytes(name_of(table.name, number), data, self._now.timestamp())
            size.note(len(rows), len(data))
            self._rows[table.name] += len(rows)
            number += 1
            self._tell("packing", len(data))

    def check(self, keys: BackupKeys, path: Path) -> None:
        """Opens what was written, and counts again."""
        self._done, found, checker = 0, Counter[str](), RowChecker()

        def count(_: Manifest, member: PackedFile) -> None:
            if member.name == TABLES:
                checker.begin(decode_tables(member.read(MAX_TABLES_BYTES)).columns)
            elif member.name.startswith(ROWS):
                table, rows = table_of(member.name), decode_rows(member.read(MAX_ROWS_BYTES))
                found[table] += len(rows)
                checker.take(table, rows)
                self._tell("checking", member.size)

        with path.open("rb") as file, unsealed(file, keys) as content:
            manifest = read_pack(content, count)
        is_same = damaged_of(checker.found) == manifest.damaged_links
        if manifest != self.manifest or found != self._rows or not is_same:
            raise BackupBroken("The backup does not contain what was written. Check the disk.")

    def _go_on(self, _: int) -> None:
        if self._writer.is_stopping():
            raise BackupRefused(STOPPED)

    def _tell(self, what: str, size: int) -> None:
        self._go_on(size)
        self._done += size
        self._writer.tell(what, self._done, self.manifest.database_bytes)
