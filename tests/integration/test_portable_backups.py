"""Portable backups: the same installation on another engine, and back."""

import asyncio
import tarfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import IO, Any, cast

import pytest
import sqlalchemy as sa

from kurz.clicks.periods import Interval, read_period
from kurz.clicks.stats import EVERYTHING, about_link
from kurz.clock import to_micros
from kurz.errors import BackupBroken, BackupRefused
from kurz.links.model import Draft, Filter, Scope, Strategy
from kurz.people.passwords import Passwords
from kurz.settings.model import Settings
from kurz.settings.secret import keep_secret
from kurz.storage.backup.numbers import read_numbers, write_numbers
from kurz.storage.backup.renewal import SKIPPED
from kurz.storage.backup.snapshot import open_copy
from kurz.storage.engine.migrate import Migrations
from kurz.storage.engine.schema_state import Feature, find_state, use_feature
from kurz.storage.links.active import active_at, count_existing, find_uncounted
from kurz.storage.links.installation import CACHE_EPOCH
from kurz.storage.portable.loading import MAX_SORTED_LINKS, RowLoader
from kurz.storage.safety.destinations import has_lost_changes
from kurz.storage.schema.base import metadata
from kurz.transfer.backup.manifest import Manifest, decode
from kurz.transfer.backup.packing import packed
from kurz.transfer.backup.rows import decode_rows, encode_rows
from kurz.wiring.backup import BackupWriter
from kurz.wiring.backup_checking import verify_backup
from kurz.wiring.backup_storage import FileTarget
from kurz.wiring.core import Kurz, open_kurz
from kurz.wiring.loader import open_loader
from kurz.wiring.portable import PortableWriter
from kurz.wiring.restore import BackupRestorer
from support.clicks import click, write_segment
from support.filled import dump, fill
from support.people import PASSWORD

pytestmark = pytest.mark.parametrize("engine", ["sqlite"], indirect=True)


class Moves:
    """Makes backups and restores them, each to a new place."""

    def __init__(self, kurz: Kurz, make_database: Callable[..., str]) -> None:
        self._kurz = kurz
        self._folder = kurz.settings.data_dir.parent
        self._make_database = make_database
        self._count = 0

    def place(self, engine: str) -> Settings:
        self._count += 1
        address = self._make_database() if engine == "postgres" else None
        folder = self._folder / f"moved-{self._count}"
        return replace(self._kurz.settings, data_dir=folder, database_url=address)

    async def back_up(self, settings: Settings) -> FileTarget:
        self._count += 1
        target = FileTarget(self._folder / f"{self._count}.backup")
        writer = PortableWriter(settings)
        await asyncio.to_thread(writer.create, target, self._kurz.clock.now())
        return target

    async def restore(self, target: FileTarget, settings: Settings) -> Manifest:
        restorer = BackupRestorer(settings)
        return await asyncio.to_thread(restorer.restore, target, self._kurz.clock.now())

    async def move(self, settings: Settings, engine: str) -> Settings:
        place = self.place(engine)
        await self.restore(await self.back_up(settings), place)
        return place

    def opened(self, settings: Settings) -> Any:
        return open_kurz(settings, self._kurz.clock, Passwords(cost=4))


@pytest.fixture
def moves(kurz, make_database) -> Moves:
    return Moves(kurz, make_database)


def expected(before: dict[str, list[Any]], after: dict[str, list[Any]]) -> dict[str, list[Any]]:
    """What must be there after one restore. Everything that may differ is named here."""
    changed = {name: [*rows] for name, rows in before.items()}
    epochs = [row for row in after["installation"] if row[0] == CACHE_EPOCH]
    others = [row for row in changed["installation"] if row[0] != CACHE_EPOCH]
    changed["installation"] = sorted([*others, *epochs], key=repr)
    epoch = [column.name for column in metadata.tables["accounts"].columns].index("epoch")
    changed["accounts"] = [
        (*row[:epoch], row[epoch] + SKIPPED, *row[epoch + 1 :]) for row in changed["accounts"]
    ]
    changed["counters"] = [(name, number + SKIPPED) for name, number in changed["counters"]]
    changed["destination_position"] = after["destination_position"]
    new = [row for row in after["audit"] if row not in changed["audit"]]
    assert [row[4] for row in new] == ["restore-backup"]
    changed["audit"] = sorted([*changed["audit"], *new], key=repr)
    return changed


@pytest.mark.parametrize("way", [("postgres", "postgres", "sqlite", "sqlite")])
async def test_all_rows_are_the_same_on_the_other_engine_and_back(kurz, people, moves, way):
    await fill(kurz, people)
    before = await kurz.database.read(dump)
    assert [name for name, rows in before.items() if not rows] == []
    settings = kurz.settings
    for engine in way:
        settings = await moves.move(settings, engine)
        async with moves.opened(settings) as moved:
            after = await moved.database.read(dump)
        assert after == expected(before, after)
        before = after


@pytest.mark.parametrize("target", ["postgres", "sqlite"])
async def test_people_links_and_statistics_are_there_and_nothing_is_issued_twice(
    kurz, people, moves, target
):
    filled = await fill(kurz, people)
    period = read_period(kurz.clock.now(), "2026-02-01", "2026-03-02", "UTC")
    abouts = [EVERYTHING, about_link(filled.links["plain"], 0)]

    async def reports(of: Kurz) -> list[Any]:
        return [await of.stats.get(it, period, Interval.DAY, compares=True) for it in abouts]

    before = await reports(kurz)
    assert before[0].all_clicks == 4
    middle = await moves.move(kurz.settings, "postgres")
    settings = middle if target == "postgres" else await moves.move(middle, target)
    async with moves.opened(settings) as moved:
        assert await reports(moved) == before
        for link in filled.links.values():
            key = link.workspace_id, link.short_code
            assert await moved.store.find_by_code(*key) == await kurz.store.find_by_code(*key)
        account = await moved.accounts.sign_in("ada@example.com", PASSWORD)
        assert account.id == filled.person.id
        found = await moved.keys.find(filled.key)
        assert found is not None
        issued = {link.id for link in filled.links.values()}
        for number in range(20):
            draft = Draft(original_url=f"https://new.example/{number}", strategy=Strategy.COUNTER)
            made = (await moved.links.create(draft)).link
            assert made.id > SKIPPED
            issued.add(made.id)
        assert len(issued) == len(filled.links) + 20


@pytest.mark.parametrize("target", ["postgres", "sqlite"])
async def test_what_is_rebuilt_is_found_again(kurz, people, moves, target):
    filled = await fill(kurz, people)
    async with moves.opened(await moves.move(kurz.settings, target)) as moved:
        assert await moved.database.read(find_uncounted) == (True, None)
        while await moved.database.write(count_existing, 3):
            pass
        now = to_micros(kurz.clock.now())
        active = await moved.database.read(
            lambda connection: connection.execute(sa.select(active_at(now))).scalar_one()
        )
        assert active == len(filled.links) - 2  # one is deleted, one is banned
        wanted = Filter(search="tagged")
        page = await moved.links.list(Scope(filled.workspace_id), wanted)
        assert [link.id for link in page.links] == [filled.links["tagged"].id]
        lost = await moved.database.read(has_lost_changes)
        assert not lost
        if target == "sqlite":  # with few links, a search does not need the index
            assert await moved.database.read(count_indexed) == 4  # without those in no list


def count_indexed(connection: sa.Connection) -> int:
    query = "SELECT count(*) FROM link_search WHERE link_search MATCH 'text : \"example\"'"
    found: int = connection.exec_driver_sql(query).scalar_one()
    return found


@pytest.mark.parametrize("target", ["postgres", "sqlite"])
async def test_programs_that_are_too_old_stay_excluded(kurz, people, moves, target):
    """Otherwise one would ignore, for example, the passwords of links."""
    feature = Feature("A link with a password", Migrations().head)
    place = await moves.move(kurz.settings, target)
    async with moves.opened(place) as moved:
        assert (await moved.database.read(find_state)).oldest < feature.schema
    await kurz.database.write(use_feature, feature)
    place = await moves.move(kurz.settings, target)
    async with moves.opened(place) as moved:
        assert (await moved.database.read(find_state)).oldest == feature.schema


@pytest.mark.parametrize("target", ["postgres", "sqlite"])
async def test_numbers_of_rows_that_are_gone_are_not_issued_again(kurz, people, moves, target):
    await fill(kurz, people)
    middle = await moves.move(kurz.settings, "postgres")
    async with moves.opened(middle) as moved:
        ahead = {name: number + 10 * SKIPPED for name, number in (await numbers(moved)).items()}
        await moved.database.write(write_numbers, ahead)
    async with moves.opened(await moves.move(middle, target)) as moved:
        issued = await numbers(moved)
        assert {"links", "workspaces", "audit", "destinations", "changes"} <= issued.keys()
        assert [name for name in issued if issued[name] < ahead[name] + SKIPPED] == []


def index_names(connection: sa.Connection) -> set[str]:
    names = connection.exec_driver_sql("SELECT name FROM sqlite_master WHERE type = 'index'")
    return set(names.scalars())


@pytest.mark.parametrize("links", [MAX_SORTED_LINKS, MAX_SORTED_LINKS + 1])
async def test_indexes_that_would_need_much_memory_grow_with_the_rows(kurz, tmp_path, links):
    there = await kurz.database.read(index_names)
    with open_copy(tmp_path / "new.db", is_new=True) as connection:
        loader = RowLoader(connection)
        loader.create(Migrations().head, "0023")
        loader.begin({name: ["id"] for name in ("links", "click_events")}, links)
        left = index_names(connection)
        assert "ix_click_events_link" in left
        assert ("ix_links_url" in left) == (links > MAX_SORTED_LINKS)
        loader.finish({}, 1, "2026-05-01")
        assert index_names(connection) == there


async def numbers(kurz: Kurz) -> dict[str, int]:
    return await kurz.database.read(read_numbers)


async def test_journals_and_the_secret_move_too(kurz, people, moves):
    filled = await fill(kurz, people)
    folder = kurz.settings.journal_dir
    late = write_segment(folder, click(filled.links["plain"].id))
    settings = replace(moves.place("postgres"), secret=None)
    keep_secret(kurz.settings)
    await moves.restore(await moves.back_up(kurz.settings), settings)
    assert settings.secret_path.read_bytes() == kurz.settings.secret_path.read_bytes()
    assert (settings.journal_dir / late.name).exists()
    async with moves.opened(settings) as moved, open_loader(moved) as loader:
        assert await loader.load_all() == 1


def edited(change: Callable[[str, bytes], bytes], source: Path, target: Path) -> None:
    """A backup with other files, whose digests are right."""
    with tarfile.open(source) as tar, target.open("wb") as file:
        members = {it.name: cast("IO[bytes]", tar.extractfile(it)).read() for it in tar}
        manifest = decode(change("manifest.json", members.pop("manifest.json")))
        del members["SHA256SUMS"]
        with packed(file, manifest) as pack:
            for name, data in members.items():
                pack.add_bytes(name, change(name, data), 0)


async def test_rows_of_an_older_schema_are_upgraded(kurz, people, moves):
    await fill(kurz, people)
    made = await moves.back_up(kurz.settings)
    head = Migrations().head.encode()
    older = kurz.settings.data_dir.parent / "older.backup"
    edited(
        lambda _, data: data.replace(b'"schema": "' + head, b'"schema": "0025'),
        Path(made.shown),
        older,
    )
    for engine in "sqlite", "postgres":
        settings = moves.place(engine)
        await moves.restore(FileTarget(older), settings)
        async with moves.opened(settings) as moved:
            before = await kurz.database.read(dump)
            after = await moved.database.read(dump)
            assert after == expected(before, after)


def flip_last_bit(source: Path, target: Path) -> None:
    data = bytearray(source.read_bytes())
    data[-1] ^= 1
    target.write_bytes(data)


CASES = {
    "a newer schema": lambda _, data: data.replace(b'"schema": "00', b'"schema": "90'),
    "an unknown table": lambda _, data: data.replace(b'"links": [', b'"linx": ['),
    "an unknown column": lambda _, data: data.replace(b'"short_code"', b'"short_mode"'),
    "a row that does not fit": lambda name, data: (
        encode_rows([(1,)]) if name.startswith("rows/workspaces/") else data
    ),
    "a row that is there twice": lambda name, data: (
        encode_rows([*decode_rows(data)] * 2) if name.startswith("rows/workspaces/") else data
    ),
    "rows that are no rows": lambda name, data: b"\xc1" if name.startswith("rows/audit/") else data,
}


@pytest.mark.parametrize("target", ["postgres", "sqlite"])
async def test_a_backup_that_cannot_be_used_leaves_nothing(kurz, people, moves, target):
    await fill(kurz, people)
    made = await moves.back_up(kurz.settings)
    broken = kurz.settings.data_dir.parent / "broken.backup"
    settings = moves.place(target)
    for change in CASES.values():
        edited(change, Path(made.shown), broken)
        with suppress(BackupBroken):  # and nothing else
            verify_backup(kurz.settings, FileTarget(broken))
        with pytest.raises((BackupBroken, BackupRefused)) as caught:
            await moves.restore(FileTarget(broken), settings)
        assert "\n" not in caught.value.detail
        assert not settings.data_dir.exists()
    flip_last_bit(Path(made.shown), broken)  # after all rows
    with pytest.raises(BackupBroken):
        await moves.restore(FileTarget(broken), settings)
    await moves.restore(made, settings)  # nothing is in the way


async def test_a_database_that_is_not_empty_stays_as_it_is(kurz, people, moves):
    await fill(kurz, people)
    made = await moves.back_up(kurz.settings)
    settings = moves.place("postgres")
    await moves.restore(made, settings)
    again = replace(settings, data_dir=moves.place("sqlite").data_dir)
    with pytest.raises(BackupRefused, match="not empty"):
        await moves.restore(made, again)
    assert not again.data_dir.exists()
    async with moves.opened(settings) as moved:
        assert len((await moved.database.read(dump))["links"]) == 7


async def test_a_copy_of_sqlite_is_not_restored_to_postgresql(kurz, moves):
    target = FileTarget(kurz.settings.data_dir.parent / "physical.backup")
    await asyncio.to_thread(BackupWriter(kurz.settings).create, target, kurz.clock.now())
    with pytest.raises(BackupRefused, match="--portable"):
        await moves.restore(target, moves.place("postgres"))
