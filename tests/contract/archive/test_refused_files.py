"""Files that are forged, damaged or not signed, and what is not restored from them."""

import gzip
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from structlog.testing import capture_logs

from kurz.clicks.folding import pack
from kurz.links.ending.archives import ArchivedLink, CountedDay, Obstacle
from kurz.links.errors import ArchiveFileBroken, ArchiveFileForeign, ArchiveFileNotFound
from kurz.links.model import Link, Scope
from kurz.transfer.archive_format import decode
from kurz.transfer.signing import Signer
from kurz.wiring.archive import open_archive
from support.archive import (
    archived_ids,
    archiver_of,
    click,
    living_ids,
    make_swept,
    names_in_place,
    only_file,
    put_file,
    restore,
    run_until_done,
)

in_a_folder = pytest.mark.parametrize("archive_settings", ["folder"], indirect=True)


async def test_files_that_cannot_be_restored(kurz, archiver):
    await make_swept(kurz, 1)
    await run_until_done(kurz, archiver)
    archive = open_archive(kurz)
    data = await archiver._files.read(await only_file(kurz))
    assert data is not None
    for name in "2026-03-01-0123456789abcdef.jsonl.gz", "../../etc/passwd", "notes.txt":
        with pytest.raises(ArchiveFileNotFound):
            await archive.read(name)
    broken = "2026-03-01-000000000000000b.jsonl.gz"
    await archiver._files.write(broken, data[:-1])
    strange = "2026-03-01-000000000000000c.jsonl.gz"
    await archiver._files.write(strange, gzip.compress(b'{"short_code": "x"}\n'))
    for name in broken, strange:
        with pytest.raises(ArchiveFileForeign, match="--foreign"):
            await restore(kurz, name)
        with pytest.raises(ArchiveFileBroken):
            await restore(kurz, name, is_foreign=True)
    elsewhere = "2026-03-01-000000000000000d.jsonl.gz"
    links = [entry.archived for entry in decode(data)]
    now = kurz.clock.now()
    await put_file(archiver, elsewhere, links, installation="another", now=now)
    with pytest.raises(ArchiveFileBroken, match="another installation"):
        await restore(kurz, elsewhere, is_foreign=True)
    assert await living_ids(kurz) == set()


async def test_a_file_that_is_not_signed_needs_a_word(kurz, archiver):
    """Also one that is signed by another key or under another name, and one that was changed."""
    [link] = await make_swept(kurz, 1)
    await run_until_done(kurz, archiver)
    name = await only_file(kurz)
    data = await archiver._files.read(name)
    assert data is not None
    links = [entry.archived for entry in decode(data)]
    now = kurz.clock.now()
    other_key, renamed, changed, plain = (f"2026-03-01-{it:016x}.jsonl.gz" for it in range(4))
    await put_file(archiver, other_key, links, signer=Signer(bytes(32)), now=now)
    await archiver._files.write(renamed, data)
    await archiver._files.write(changed, data[:-1] + bytes([data[-1] ^ 1]))
    await archiver._files.write(plain, gzip.compress(gzip.decompress(data)))
    archive = open_archive(kurz)
    for foreign in other_key, renamed, changed, plain:
        with pytest.raises(ArchiveFileForeign, match="--foreign"):
            await restore(kurz, foreign)
        with pytest.raises(ArchiveFileForeign):
            await archive.read(foreign)
    passed_over: list[Any] = []
    found = await archive.list(link.short_code, pass_over=passed_over.append)
    assert [file.name for file in found] == [name]
    assert len(passed_over) == 4
    assert await living_ids(kurz) == set()
    [back] = await restore(kurz, plain, is_foreign=True)
    assert back.id == link.id


FORGED: dict[str, dict[str, Any]] = {
    "header": {"original_url": "https://example.com/\r\nSet-Cookie: a=b"},
    "scheme": {"original_url": "javascript:alert(1)"},
    "own host": {"original_url": "https://kurz.example/x"},
    "reserved": {"short_code": "api"},
    "path": {"short_code": "a/../../b"},
    "parent": {"short_code": ".."},
    "no code": {"short_code": ""},
    "title": {"title": "a\u202eb"},
    "tags": {"tags": tuple(str(it) for it in range(21))},
    "status": {"redirect_status": 200},
    "clicks": {"max_clicks": 0},
    "future": {"created_at": datetime(2100, 1, 1, tzinfo=UTC)},
    "beyond 9999": {"last_checked_at": datetime(9999, 12, 31, 23, tzinfo=ZoneInfo("Etc/GMT+9"))},
}


@pytest.mark.parametrize("forged", FORGED.values(), ids=FORGED)
@in_a_folder
async def test_what_no_new_link_could_be_is_not_restored(kurz, archiver, forged):
    """However it came into the file: here it is even signed."""
    links = [ArchivedLink(link) for link in await make_swept(kurz, 2)]
    await run_until_done(kurz, archiver)
    links[0] = replace(links[0], link=replace(links[0].link, **forged))
    name = "2026-03-01-000000000000000b.jsonl.gz"
    await put_file(archiver, name, links, now=kurz.clock.now())
    archive = open_archive(kurz)
    found = [it async for it in archive.restore(name, own_hosts=("kurz.example",))]
    assert found[0].result is Obstacle.INVALID
    assert found[0].detail
    assert isinstance(found[1].result, Link)
    assert await living_ids(kurz) == {links[1].link.id}


@in_a_folder
async def test_a_link_that_starts_after_the_given_end_keeps_no_other_one_back(kurz, archiver):
    links = [ArchivedLink(link) for link in await make_swept(kurz, 2)]
    await run_until_done(kurz, archiver)
    now = kurz.clock.now()
    later = {"starts_at": now + timedelta(days=60), "expires_at": now + timedelta(days=90)}
    links[0] = replace(links[0], link=replace(links[0].link, **later))
    name = "2026-03-01-000000000000000b.jsonl.gz"
    await put_file(archiver, name, links, now=now)
    archive = open_archive(kurz)
    found = [it async for it in archive.restore(name, expires_at=now + timedelta(days=30))]
    assert found[0].result is Obstacle.INVALID
    assert found[0].detail == "`starts_at` must be before the link expires."
    assert isinstance(found[1].result, Link)


@in_a_folder
async def test_a_link_that_could_not_be_restored_is_not_purged(kurz, archiver, clock):
    """Its clicks were counted while the clock was days ahead."""
    [ahead, other] = await make_swept(kurz, 2)
    clock.advance(days=9)
    await click(kurz, ahead)
    clock.advance(days=-9)
    with capture_logs() as lines:
        assert await run_until_done(kurz, archiver) == 1
    assert await living_ids(kurz) == {ahead.id}
    assert await archived_ids(kurz) == {other.id: 1}
    [line] = [line for line in lines if line["log_level"] == "error"]
    assert line["link_id"] == ahead.id
    clock.advance(days=9)
    assert await run_until_done(kurz, await archiver_of(kurz)) == 1
    name = max(await names_in_place(archiver))
    [back] = await restore(kurz, name)
    assert back.id == ahead.id


@in_a_folder
async def test_where_a_restored_link_leads_is_made_of_its_url(kurz, archiver):
    """Not of what the file says: CRLF there would be headers of the answer."""
    [link] = await make_swept(kurz, 1, original_url="https://example.com/ü")
    await run_until_done(kurz, archiver)
    lie = replace(link, location="https://x.example/\r\nX: y", canonical_url="https://x.example/")
    name = "2026-03-01-000000000000000b.jsonl.gz"
    await put_file(archiver, name, [ArchivedLink(lie)], now=kurz.clock.now())
    [back] = await restore(kurz, name)
    assert (back.location, back.canonical_url) == (link.location, link.canonical_url)
    assert await kurz.store.find(link.id, Scope()) == back


TODAY = date(2026, 3, 1)
DAYS: dict[str, list[CountedDay]] = {
    "twice": [CountedDay(TODAY, 1, 1, 1, b"{}", b"")] * 2,
    "future": [CountedDay(date(2100, 1, 1), 1, 1, 1, b"{}", b"")],
    "counts": [CountedDay(TODAY, 1, 1, 1, b'{"c": "DE"}', b"")],
    "letter": [CountedDay(TODAY, 1, 1, 1, b'{"?DE": 1}', b"")],
    "sketch": [CountedDay(TODAY, 1, 1, 1, b"{}", b"\x0c" + bytes(9))],
    "month": [CountedDay(TODAY, 1, 1, 1, b"{}", b"", b"\xc1")],
    "counts of a month": [
        CountedDay(date(2026, 2, 1), 0, 0, 0, b"{}", b"", pack(0, (), {}, {"?": 1}))
    ],
    "middle of a month": [CountedDay(date(2026, 2, 2), 0, 0, 0, b"{}", b"", pack(0, (), {}, {}))],
}


@pytest.mark.parametrize("days", DAYS.values(), ids=DAYS)
@in_a_folder
async def test_days_that_were_never_counted_are_not_restored(kurz, archiver, days):
    [link] = await make_swept(kurz, 1)
    await run_until_done(kurz, archiver)
    name = "2026-03-01-000000000000000b.jsonl.gz"
    await put_file(archiver, name, [ArchivedLink(link, days=days)], now=kurz.clock.now())
    assert await restore(kurz, name) == [Obstacle.INVALID]
    assert await living_ids(kurz) == set()
