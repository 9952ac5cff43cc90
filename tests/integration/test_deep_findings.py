"""What `kurz doctor --deep` says about damage, on both engines."""

import asyncio
from dataclasses import replace

import pytest
import sqlalchemy as sa

from kurz.cli.deep_findings import MOST_NAMED, examine_deeply
from kurz.storage.schema.links import installation, links
from kurz.wiring.backup import BackupWriter
from kurz.wiring.backup_storage import FileTarget
from kurz.wiring.portable import PortableWriter
from support.checksums import copy_file, flip, spoil
from support.clicks import click, write_segment
from support.endings import make, write
from support.engines import without_redis
from support.migrations import on_sqlite

engine = without_redis
URL = "https://example.com/x"
ADVICE = "Look up their destinations in a backup, and set them again: kurz edit CODE --url URL"


async def findings(kurz, **settings) -> list[tuple[str, str, str]]:
    def examine() -> list[tuple[str, str, str]]:
        found = examine_deeply(replace(kurz.settings, **settings), lambda *_: None)
        return [(it.verdict.value, it.about, it.says) for it in found]

    return await asyncio.to_thread(examine)


async def errors(kurz, **settings) -> list[tuple[str, str]]:
    found = await findings(kurz, **settings)
    return [(about, says) for verdict, about, says in found if verdict == "error"]


async def back_up(kurz, name: str, kind: type = BackupWriter) -> FileTarget:
    target = FileTarget(kurz.settings.data_dir.parent / name)
    await asyncio.to_thread(kind(kurz.settings).create, target, kurz.clock.now())
    return target


async def test_sound_links_and_journals_are_reported_as_such(kurz):
    links = [await make(kurz) for _ in range(3)]
    write_segment(kurz.settings.journal_dir, *(click(link.id) for link in links))
    found = await findings(kurz)
    assert [(verdict, about) for verdict, about, _ in found] == [
        ("ok", "integrity"),
        ("ok", "links"),
        ("ok", "journals"),
    ]
    assert found[1][2] == "3 destinations compared with checksums, none has changed"


async def test_a_damaged_link_is_named_with_where_it_leads_and_what_to_do(kurz, people):
    workspace = await people.workspace(await people.add())
    await make(kurz, custom_code="root")
    await make(kurz, custom_code="team", workspace_id=workspace.id)
    await kurz.database.write(spoil("root", original_url=f"{URL}\x1b[31m"))
    await kurz.database.write(spoil("team", location=URL))
    assert await errors(kurz) == [
        ("link", f"/root leads to {URL}?[31m, which is not what was stored"),
        ("link", f"/@{workspace.slug}/team leads to {URL}, which is not what was stored"),
        ("links", f"2 of 2 links damaged. {ADVICE}"),
    ]


@pytest.mark.parametrize(
    "change",
    [
        {"status": "ACTIWE"},
        {"link_type": "TEMPNRARY"},
        {"strategy": "rbndom"},
        {"redirect_status": 303},
    ],
)
async def test_an_unknown_value_that_a_redirect_depends_on_is_found(kurz, change):
    await make(kurz, custom_code="good")
    await make(kurz, custom_code="odd")
    await write(kurz, sa.update(links).where(links.c.short_code == "odd").values(change))
    found = await errors(kurz)
    says = "/odd has a status, type or redirect status that is unknown"
    assert found[0] == ("link", says)
    assert [about for about, _ in found] == ["link", "links"]


async def test_of_many_damaged_links_the_first_are_named(kurz):
    many = MOST_NAMED + 5
    for _ in range(many):
        await make(kurz)
    await write(kurz, sa.update(links).values(checksum=b"12345678"))
    found = await errors(kurz)
    assert [about for about, _ in found] == ["link"] * MOST_NAMED + ["links"]
    assert found[-1][1].startswith(f"{many} of {many} links damaged")


async def test_links_without_a_checksum_are_counted_and_no_error(kurz):
    for _ in range(3):
        await make(kurz)
    await write(kurz, sa.update(links).where(links.c.id > 1).values(checksum=None))
    found = await findings(kurz)
    assert [it for it in found if it[1] == "links"] == [
        ("ok", "links", "1 destination compared with checksums, none has changed"),
        (
            "warning",
            "links",
            "2 links without a checksum yet. kurz serve adds it in the background.",
        ),
    ]


async def test_without_the_key_nothing_is_compared(kurz):
    await make(kurz)
    await write(kurz, sa.delete(installation).where(installation.c.name == "checksum-key"))
    [(about, says)] = await errors(kurz)
    assert (about, "key of the checksums is damaged or missing" in says) == ("links", True)


async def test_a_damaged_journal_is_named(kurz):
    good, bad = (write_segment(kurz.settings.journal_dir, *[click(1)] * 20) for _ in range(2))
    data = bytearray(bad.read_bytes())
    data[200] ^= 4
    bad.write_bytes(data)
    [(about, says)] = await errors(kurz)
    assert about == "journal"
    assert says.startswith(f"{bad.name} is damaged: it cannot be read from byte ")
    assert good.name not in says


@on_sqlite
async def test_an_index_that_differs_from_its_table_is_reported(kurz, tmp_path):
    for number in range(20):
        await make(kurz, custom_code=f"unmistakable-{number}")
    damaged = tmp_path / "damaged"
    damaged.mkdir()
    copy_file(kurz.settings.database_path, damaged / "kurz.db")
    assert await errors(kurz, data_dir=damaged) == []
    places = flip(damaged / "kurz.db", b"unmistakable-7")
    assert places > 2  # the table, its index of codes, the change log
    found = await errors(kurz, data_dir=damaged)
    assert ("integrity", "row 8 missing from index sqlite_autoindex_links_1") in found
    advice = "Stop kurz, move the data folder away and restore the last good backup."
    assert ("integrity", advice) in found


@on_sqlite
async def test_a_file_that_is_no_database_is_reported(kurz):
    path = kurz.settings.database_path
    path.write_bytes(b"nothing" * 1000)
    assert ("integrity", "The database file is damaged, or is not a SQLite database.") in (
        await errors(kurz)
    )


@on_sqlite
@pytest.mark.parametrize("kind", [BackupWriter, PortableWriter])
async def test_backups_are_read(kurz, kind):
    folder = kurz.settings.data_dir.parent / "scheduled"
    folder.mkdir()
    await make(kurz, custom_code="root")
    good, later = "kurz-20260101T000000Z.backup", "kurz-20260103T000000Z.backup"
    broken = "kurz-20260102T000000Z.backup"
    await back_up(kurz, f"scheduled/{good}", kind)
    await back_up(kurz, f"scheduled/{broken}", kind)
    data = bytearray((folder / broken).read_bytes())
    data[len(data) // 2] ^= 1
    (folder / broken).write_bytes(data)
    await kurz.database.write(spoil("root", original_url=URL))
    await back_up(kurz, f"scheduled/{later}", kind)
    found = await findings(kurz, backup=str(folder))
    told = [(verdict, says) for verdict, about, says in found if about == "backup"]
    assert [verdict for verdict, _ in told] == ["ok", "error", "warning"]
    assert told[0][1] == f"{folder / good} is intact, with 1 link"
    assert told[1][1].startswith(f"{folder / broken}: The backup is damaged")
    assert told[2][1] == f"{folder / later} is intact, but has 1 damaged link"


@on_sqlite
async def test_copies_from_before_upgrades_are_read(kurz):
    folder = kurz.settings.backup_dir
    folder.mkdir()
    await make(kurz, custom_code="root")
    await kurz.database.write(spoil("root", original_url=URL))
    copy_file(kurz.settings.database_path, folder / "one.db")
    copy_file(kurz.settings.database_path, folder / "two.db")
    assert flip(folder / "two.db", b"CREATE TABLE links") > 0
    found = await findings(kurz)
    told = [(verdict, says) for verdict, about, says in found if about == "backup"]
    assert told[0] == (
        "warning",
        f"{folder / 'one.db'} is intact, but has 1 damaged link",
    )
    assert told[1][0] == "error"
