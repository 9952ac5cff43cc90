"""What is in the files of an archive, and how they are found."""

import gzip
import json
from dataclasses import replace
from datetime import date

import pytest

from kurz.errors import SettingRefused
from kurz.links.errors import ArchiveFileBroken
from kurz.links.model import Status
from kurz.links.transfers import ImportTarget, RowOutcome, TransferFormat
from kurz.storage.ending import archive as archive_storage
from kurz.transfer.archive_format import plain_lines
from kurz.wiring.archive import open_archive, open_archiver
from kurz.wiring.core import open_kurz
from support.archive import (
    OWNER,
    add_days,
    click,
    forget_files,
    make_swept,
    only_file,
    restore,
    run_until_done,
)
from support.transfer import chunks, records, run, team

in_a_folder = pytest.mark.parametrize("archive_settings", ["folder"], indirect=True)


@in_a_folder
async def test_a_file_has_lines_of_an_export(kurz, archiver, tmp_path, clock):
    workspace = await team(kurz)
    [link] = await make_swept(kurz, 1, workspace_id=workspace.id, tags=("a",))
    await click(kurz, link)
    lines = await records(kurz, slugs={workspace.id: "team"}, with_trash=True)
    await run_until_done(kurz, archiver)
    data = (tmp_path / "archive" / await only_file(kurz)).read_bytes()
    [line] = [json.loads(it) for it in gzip.decompress(data).splitlines()]
    archive = line.pop("archive")
    assert [line] == lines
    assert line["workspace"] == "team"
    assert (archive["id"], archive["version"]) == (link.id, link.version)
    assert archive["totals"]["clicks"] == 1
    assert [day["day"] for day in archive["days"]] == [str(clock.now().date())]


@in_a_folder
async def test_a_file_can_be_imported_elsewhere(kurz, archiver, tmp_path, clock):
    """Also a link with more days than a line of an import has room for."""
    made = await make_swept(kurz)
    await add_days(kurz, made[0], 900)
    await run_until_done(kurz, archiver)
    clock.advance(days=1000)
    data = (tmp_path / "archive" / await only_file(kurz)).read_bytes()
    lines = b"".join([chunk async for chunk in plain_lines(chunks(data))])
    assert len(gzip.decompress(data)) > 64 * 1024
    results = await run(
        kurz, lines, TransferFormat.JSONL, ImportTarget(owner_id=OWNER)
    )  # whose codes they are
    assert [it.outcome for it in results] == [RowOutcome.CREATED] * 3
    assert [it.short_code for it in results] == [link.short_code for link in made]
    for code in (link.short_code for link in made):
        again = await kurz.store.find_by_code(0, code)
        assert again is not None
        assert again.status is Status.DELETED
        assert again.deleted_at == again.swept_at == kurz.clock.now()  # its time begins anew
    with pytest.raises(ArchiveFileBroken):
        [chunk async for chunk in plain_lines(chunks(data[:-20]))]
    with pytest.raises(ArchiveFileBroken):
        [chunk async for chunk in plain_lines(chunks(b"no gzip"))]


async def test_a_file_has_only_so_many_days(kurz, archiver, monkeypatch):
    """But for one link that has more alone."""
    monkeypatch.setattr(archive_storage, "MOST_DAYS", 5)
    made = await make_swept(kurz, 4)
    for link, number in zip(made, (3, 2, 9, 1), strict=True):
        await add_days(kurz, link, number)
    assert await run_until_done(kurz, archiver) == 4
    archive = open_archive(kurz)
    files = [await archive.read(file.name) for file in await archive.list()]
    days = sorted([len(entry.archived.days) for entry in file] for file in files)
    assert days == [[1], [3, 2], [9]]


async def test_a_file_can_be_found_by_a_code(kurz, archiver):
    for _ in range(2):
        [link] = await make_swept(kurz, 1)
        await run_until_done(kurz, archiver)
    archive = open_archive(kurz)
    [file] = await archive.list(link.short_code)
    [entry] = await archive.read(file.name)
    assert entry.archived.link.id == link.id
    assert await archive.list("nobody") == []
    assert len(await archive.list()) == 2


async def test_files_that_the_database_does_not_know_are_listed(kurz, archiver):
    """As after an older backup was put back. Strange names are not."""
    [link] = await make_swept(kurz, 1)
    await run_until_done(kurz, archiver)
    name = await only_file(kurz)
    await forget_files(kurz)
    await archiver._files.write("2026-02-31-0123456789abcdef.jsonl.gz", b"")
    await archiver._files.write("notes.txt", b"")
    [file] = await (open_archive(kurz)).list()
    assert (file.name, file.links, file.created_at.date()) == (name, None, date(2026, 3, 3))
    [back] = await restore(kurz, name)
    assert back.id == link.id


async def test_a_file_is_signed_for_as_long_as_the_installation_lives(kurz, archiver, settings):
    """Another process, which knows nothing but the database, finds it signed."""
    [link] = await make_swept(kurz, 1)
    await run_until_done(kurz, archiver)
    name = await only_file(kurz)
    async with open_kurz(settings, kurz.clock) as other:
        [back] = await restore(other, name)
    assert back.id == link.id


async def test_without_an_archive_there_is_none(kurz):
    parts = replace(kurz, settings=replace(kurz.settings, archive=None))
    with pytest.raises(SettingRefused):
        open_archive(parts)
    assert open_archiver(parts) is None
