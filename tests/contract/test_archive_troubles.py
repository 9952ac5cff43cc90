"""Whatever comes between, a link is in one file that counts, or alive: in both engines, folders and
buckets."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
import sqlalchemy as sa
from structlog.testing import capture_logs

from kurz.links.ending.archives import ArchivedLink, BatchDone
from kurz.links.ending.retention import EndedKind
from kurz.links.errors import ArchiveUnavailable
from kurz.links.model import Scope, Status
from kurz.storage.schema.clicks import click_days
from kurz.storage.schema.jobs import archive_files
from kurz.transfer.archive_format import encode
from kurz.transfer.archiving import REMEMBERED, Archiver
from kurz.transfer.signing import Signer
from kurz.wiring.archive import open_archive
from kurz.wiring.core import Kurz
from support.archive import (
    OWNER,
    Pause,
    archived_ids,
    archiver_of,
    click,
    counted,
    empty,
    living_ids,
    make_swept,
    names_in_place,
    only_file,
    put_file,
    remove_owner,
    restore,
    revive,
    rows,
    run_until_done,
    stopping_archiver,
    watched_archiver,
)
from support.engines import without_redis
from support.failpoints import Failpoints, Stopped, watch_files
from support.long_run import in_the_long_run

engine = without_redis  # which has no part in it
# Of the points that are tried in turn.
strides = pytest.mark.parametrize("stride", [3, *in_the_long_run(1)])
in_a_folder = pytest.mark.parametrize("archive_settings", ["folder"], indirect=True)


@pytest.fixture
def settings(settings, archive_settings):
    return replace(settings, **archive_settings)


@pytest.fixture
async def archiver(kurz) -> Archiver:
    return await archiver_of(kurz)


@pytest.mark.parametrize("point", ["collect", "begin_file", "write", "read"])
async def test_who_is_restored_meanwhile_stays_alive(kurz, point):
    """The others go with the next file; the first one does not count."""
    made = await make_swept(kurz)
    await _meanwhile(kurz, point, lambda: revive(kurz, made[0]))
    assert await living_ids(kurz) == {made[0].id}
    assert await archived_ids(kurz) == {link.id: 1 for link in made[1:]}
    found = await kurz.store.find(made[0].id, Scope())
    assert found is not None
    assert found.status is Status.ACTIVE


@pytest.mark.parametrize("point", ["collect", "read"])
async def test_who_deletes_their_account_meanwhile_is_in_no_file(kurz, point):
    """Also by links that they had deleted before, which do not change with the account."""
    [mine] = await make_swept(kurz, 1)
    [others] = await make_swept(kurz, 1, owner_id=OWNER + 1)
    for link in mine, others:
        await revive(kurz, link)
        await kurz.links.delete(kurz.links.public_id(link), Scope())
    await _meanwhile(kurz, point, lambda: remove_owner(kurz, OWNER), EndedKind.DELETED)
    assert await archived_ids(kurz) == {others.id: 1}
    assert await living_ids(kurz) == set()


@pytest.mark.parametrize("point", ["collect", "read"])
async def test_clicks_that_are_counted_meanwhile_are_not_lost(kurz, point):
    made = await make_swept(kurz)
    await click(kurz, made[0])
    await _meanwhile(kurz, point, lambda: click(kurz, *made[:2], segment=1))
    assert await archived_ids(kurz) == {link.id: 1 for link in made}
    await restore(kurz, await only_file(kurz))
    for link, clicks in zip(made, (2, 1, 0), strict=True):
        totals, days = await counted(kurz, link.id)
        assert [sum(row[2] for row in totals), sum(row[3] for row in days)] == [clicks, clicks]


async def _meanwhile(
    kurz: Kurz, point: str, work: Callable[[], Awaitable[None]], ended: EndedKind = EndedKind.SWEPT
) -> None:
    """Archives all, and does something else after the first call of that name."""
    archiver = await archiver_of(kurz)
    of = archiver._files if point in ("write", "read") else archiver._store
    method = getattr(of, point)

    async def call(*args: Any) -> Any:
        setattr(of, point, method)
        result = await method(*args)
        await work()
        return result

    setattr(of, point, call)
    now = kurz.clock.now() + timedelta(days=2)
    assert await archiver.run(ended, now, now, 1000) == BatchDone(0, is_more=True)
    assert await names_in_place(archiver) == []
    await run_until_done(kurz, archiver, ended)


@strides
async def test_a_crash_at_any_call_loses_and_doubles_nothing(kurz, archiver, stride):
    at = 0
    while True:
        failpoints = Failpoints(at)
        expected = {link.id for link in await make_swept(kurz, 2)}
        with suppress(Stopped):
            await run_until_done(kurz, await stopping_archiver(kurz, failpoints))
        await run_until_done(kurz, archiver)
        assert await archived_ids(kurz) == dict.fromkeys(expected, 1)
        assert await living_ids(kurz) == set()
        listed = await (open_archive(kurz)).list()
        assert await names_in_place(archiver) == sorted(file.name for file in listed)
        if failpoints.is_over:
            break
        await empty(kurz, archiver)
        at += stride
    assert at >= 12  # before and behind each of six calls, at the least


@in_a_folder
@pytest.mark.parametrize("error", [Stopped, lambda: OSError(28, "No space left on device")])
@strides
async def test_a_crash_or_a_full_disk_at_any_operation(
    kurz, archiver, tmp_path, monkeypatch, error, stride
):
    folder = tmp_path / "archive"
    at = 0
    while True:
        failpoints = Failpoints(at, error)
        expected = {link.id for link in await make_swept(kurz, 2)}
        with monkeypatch.context() as patch:
            watch_files(patch, folder, failpoints)
            with suppress(Stopped, ArchiveUnavailable):
                await run_until_done(kurz, archiver)
        await run_until_done(kurz, archiver)
        assert await archived_ids(kurz) == dict.fromkeys(expected, 1)
        assert await living_ids(kurz) == set()
        listed = await (open_archive(kurz)).list()
        assert sorted(path.name for path in folder.iterdir()) == sorted(it.name for it in listed)
        if failpoints.is_over:
            break
        await empty(kurz, archiver)
        at += stride
    assert at >= 6


@strides
async def test_who_wakes_up_late_leaves_no_second_copy(kurz, archiver, stride):
    """One is asleep at every point in turn, while another archives all."""
    at = 0
    while True:
        pause = Pause(at)
        sleeper = await watched_archiver(kurz, pause.step)
        expected = {link.id for link in await make_swept(kurz, 2)}
        work = asyncio.create_task(run_until_done(kurz, sleeper))
        reached = asyncio.create_task(pause.reached.wait())
        await asyncio.wait((work, reached), return_when=asyncio.FIRST_COMPLETED)
        await run_until_done(kurz, archiver)
        assert await archived_ids(kurz) == dict.fromkeys(expected, 1)
        pause.released.set()
        reached.cancel()
        await work
        assert await archived_ids(kurz) == dict.fromkeys(expected, 1)
        assert await living_ids(kurz) == set()
        listed = await (open_archive(kurz)).list()
        assert await names_in_place(archiver) == sorted(file.name for file in listed)
        if pause.passed <= at:
            break
        await empty(kurz, archiver)
        at += stride
    assert at >= 12


async def test_a_finished_file_cannot_be_given_up(kurz, archiver, clock):
    """By somebody who looked for it before it was written."""
    made = await make_swept(kurz)
    await run_until_done(kurz, archiver)
    assert not await archiver._store.give_up_file(await only_file(kurz), clock.now())
    assert await archived_ids(kurz) == {link.id: 1 for link in made}


async def test_what_somebody_wrote_and_died_is_removed(kurz, archiver, clock):
    """A file that was given up before it was written does not count, and goes."""
    await archiver._store.begin_file("2026-03-01-0123456789abcdef.jsonl.gz", 1, clock.now())
    await run_until_done(kurz, archiver)
    await archiver._files.write("2026-03-01-0123456789abcdef.jsonl.gz", b"late")
    assert await (open_archive(kurz)).list() == []
    await run_until_done(kurz, archiver)
    assert await names_in_place(archiver) == []
    clock.advance(days=REMEMBERED.days + 1)
    await run_until_done(kurz, archiver)
    assert await rows(kurz, archive_files) == []


@pytest.mark.parametrize("damage", [lambda it: it[:-9], lambda it: it[:40] + b"x" + it[41:]])
async def test_a_torn_file_is_written_again(kurz, archiver, damage):
    """Nothing is purged by a file that is not whole."""
    made = await make_swept(kurz)
    links = await archiver._store.collect(EndedKind.SWEPT, kurz.clock.now() + timedelta(days=2), 9)
    name = "2026-03-01-0123456789abcdef.jsonl.gz"
    await archiver._store.begin_file(name, len(links), kurz.clock.now())
    whole = encode(links, {}, archiver._installation, kurz.clock.now())
    await archiver._files.write(name, damage(archiver._signer.pack(name, whole)))
    assert await run_until_done(kurz, archiver) == 3
    assert name not in await names_in_place(archiver)
    assert await archived_ids(kurz) == {link.id: 1 for link in made}


async def test_a_file_of_fewer_links_than_were_meant_is_not_whole(kurz, archiver):
    made = await make_swept(kurz)
    links = await archiver._store.collect(EndedKind.SWEPT, kurz.clock.now() + timedelta(days=2), 9)
    name = "2026-03-01-0123456789abcdef.jsonl.gz"
    await archiver._store.begin_file(name, len(links), kurz.clock.now())
    await put_file(archiver, name, links[:2], now=kurz.clock.now())
    assert await run_until_done(kurz, archiver) == 3
    assert await archived_ids(kurz) == {link.id: 1 for link in made}
    assert name not in await names_in_place(archiver)


async def test_nothing_is_purged_by_a_file_that_somebody_else_put_there(kurz, archiver):
    """It names the links that are to go, and has lost what was counted for them."""
    made = await make_swept(kurz)
    links = [ArchivedLink(replace(link, original_url="https://forged.example/")) for link in made]
    name = "2026-03-01-0123456789abcdef.jsonl.gz"
    await archiver._store.begin_file(name, len(links), kurz.clock.now())
    await put_file(archiver, name, links, signer=Signer(bytes(32)), now=kurz.clock.now())
    assert await run_until_done(kurz, archiver) == 3
    assert name not in await names_in_place(archiver)
    [file] = await names_in_place(archiver)
    entries = await (open_archive(kurz)).read(file)
    assert {entry.archived.link.original_url for entry in entries} == {made[0].original_url}


@pytest.mark.parametrize("counts", [b"{", b"{} ", b'{"a":\n1}'])
async def test_what_could_not_be_read_again_stays_and_the_others_go(kurz, archiver, counts):
    """Here a day whose counts are no JSON, would be others, or would be two lines."""
    made = await make_swept(kurz)
    await click(kurz, *made)
    damage = sa.update(click_days).where(click_days.c.subject == made[0].id)
    await kurz.database.write(lambda it: it.execute(damage.values(counts=counts)).rowcount)
    with capture_logs() as lines:
        assert await run_until_done(kurz, archiver) == 2
        assert await run_until_done(kurz, archiver) == 0
    assert [it["link_id"] for it in lines if it["log_level"] == "error"] == [made[0].id]
    assert await living_ids(kurz) == {made[0].id}
    assert await archived_ids(kurz) == {link.id: 1 for link in made[1:]}


async def test_what_is_not_stored_as_it_was_written_purges_nothing(kurz, archiver, monkeypatch):
    made = await make_swept(kurz)
    write = archiver._files.write
    with monkeypatch.context() as patch:
        patch.setattr(archiver._files, "write", lambda name, data: write(name, data[:-1]))
        with pytest.raises(ArchiveUnavailable):
            await run_until_done(kurz, archiver)
    assert await living_ids(kurz) == {link.id for link in made}
