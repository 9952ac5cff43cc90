"""Links go into the archive and come back, each once, whatever happens in between: in both engines,
folders and buckets."""

import gzip
import json
from dataclasses import fields, replace
from datetime import UTC, date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from structlog.testing import capture_logs

from kurz.archiving import open_archive, open_archiver
from kurz.bootstrap import open_kurz
from kurz.clicks.batch import Kind, Position
from kurz.errors import SettingRefused
from kurz.links.archives import ArchivedLink, CountedDay, Obstacle
from kurz.links.errors import (
    ArchiveFileBroken,
    ArchiveFileForeign,
    ArchiveFileNotFound,
    InstantRefused,
    LinkNotFound,
)
from kurz.links.model import Link, LinkType, Scope, Status
from kurz.links.retention import Ended
from kurz.links.transfers import Outcome, Target, TransferFormat
from kurz.safety.audit import OPERATOR
from kurz.storage import archive as archive_storage
from kurz.storage.click_schema import click_days, click_totals
from kurz.storage.clicks import SqlClickStore
from kurz.storage.job_schema import code_quarantine
from kurz.storage.schema import changes, history, link_tags
from kurz.transfer.archive_format import decode, plain_lines
from kurz.transfer.archiving import Archiver
from kurz.transfer.signing import Signer
from support.archive import (
    OWNER,
    add_days,
    archived_ids,
    archiver_of,
    click,
    counted,
    forget_files,
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
    sweep,
)
from support.batches import MICROS_OF_DAY, Clicks
from support.engines import without_redis
from support.transfer import chunks, records, run, team

engine = without_redis  # which has no part in it
COUNTED = click_totals, click_days
ENDING = {"version", "updated_at", "status", "expires_at", "deleted_at", "swept_at"}
COPIED = {"redirect_count", "avg_redirect_ms"}  # from the totals, a little later
in_a_folder = pytest.mark.parametrize("archive_settings", ["folder"], indirect=True)


@pytest.fixture
def settings(settings, archive_settings):
    return replace(settings, **archive_settings)


@pytest.fixture
async def archiver(kurz) -> Archiver:
    return await archiver_of(kurz)


async def test_links_leave_for_the_archive(kurz, archiver):
    made = await make_swept(kurz)
    alive = await make_swept(kurz, 1)
    await revive(kurz, alive[0])
    assert await run_until_done(kurz, archiver) == 3
    assert await living_ids(kurz) == {alive[0].id}
    assert await archived_ids(kurz) == {link.id: 1 for link in made}
    [file] = await (await open_archive(kurz)).list()
    assert file.links == 3
    assert file.created_at == kurz.clock.now() + timedelta(days=2)
    assert await run_until_done(kurz, archiver) == 0
    assert await names_in_place(archiver) == [file.name]


async def test_a_link_comes_back_as_it_was(kurz, archiver, clock):
    """With all of its fields, clicks and days; only what ended it is gone."""
    [first] = await make_swept(
        kurz, 1, title="Title ☂", tags=("a", "b"), notes="n\n2", forward_query=True, max_clicks=9
    )
    [second] = await make_swept(kurz, 1, custom_code="Chosen", redirect_status=307)
    clicks = Clicks(clock.micros() // MICROS_OF_DAY)  # of links 1 to 40
    store = SqlClickStore(kurz.database, clock)
    await store.apply(clicks.batch(Position(bytes(16), 0), 1, 900))
    mine = [await counted(kurz, link.id) for link in (first, second)]
    assert all(len(totals) == 1 and len(days) == 3 for totals, days in mine)
    others = [await rows(kurz, it, it.c.kind != Kind.LINK.value) for it in COUNTED]
    assert await run_until_done(kurz, archiver) == 2
    assert await counted(kurz, first.id) == [[], []]
    clock.advance(days=3)
    restored = await restore(kurz, await only_file(kurz))
    assert [await counted(kurz, link.id) for link in (first, second)] == mine
    assert [await rows(kurz, it, it.c.kind != Kind.LINK.value) for it in COUNTED] == others
    for before, after in zip((first, second), restored, strict=True):
        assert await kurz.store.find(before.id, Scope()) == after
        for name in {field.name for field in fields(Link)} - ENDING - COPIED:
            assert getattr(after, name) == getattr(before, name), name
        assert after.status is Status.ACTIVE
        assert after.expires_at is after.deleted_at is after.swept_at is None
        assert after.updated_at == clock.now()


async def test_a_link_that_comes_back_is_told_to_everybody(kurz, archiver, clock):
    [link] = await make_swept(kurz, 1, tags=("tag",), custom_code="code")
    await run_until_done(kurz, archiver)
    assert [row.short_code for row in await rows(kurz, code_quarantine)] == ["code"]
    [back] = await restore(kurz, await only_file(kurz))
    versions = [row.version for row in await rows(kurz, changes, changes.c.link_id == link.id)]
    assert versions == sorted(set(versions))
    assert back.version == versions[-1] == link.version + 2
    assert await rows(kurz, code_quarantine) == []
    [tag] = await rows(kurz, link_tags)
    assert (tag.tag, tag.in_trash, tag.link_id) == ("tag", False, link.id)
    [entry] = await rows(kurz, history)
    assert (entry.act, entry.account_id, entry.version) == ("restore", None, back.version)


async def test_the_next_new_link_has_another_id(kurz, archiver):
    """Also where the database has forgotten that it ever gave this one."""
    *_, link = await make_swept(kurz)
    await run_until_done(kurz, archiver)
    texts = ("ALTER SEQUENCE links_id_seq RESTART", "UPDATE sqlite_sequence SET seq = 0")
    text = texts[kurz.settings.is_embedded]
    await kurz.database.write(lambda it: it.exec_driver_sql(text).rowcount)
    await restore(kurz, await only_file(kurz), link.short_code)
    [new] = await make_swept(kurz, 1)
    assert new.id > link.id


async def test_clicks_that_were_counted_for_a_purged_link_give_way(kurz, archiver):
    [link] = await make_swept(kurz, 1)
    await click(kurz, link)
    before = await counted(kurz, link.id)
    await run_until_done(kurz, archiver)
    await click(kurz, link, segment=1)
    await restore(kurz, await only_file(kurz))
    assert await counted(kurz, link.id) == before


async def test_what_leads_to_a_banned_host_stays_in_the_archive(kurz, archiver):
    made = await make_swept(kurz)
    await run_until_done(kurz, archiver)
    name = await only_file(kurz)
    await kurz.bans.ban_host("example.com", None, OPERATOR)
    assert await restore(kurz, name) == [Obstacle.REFUSED] * 3
    await kurz.bans.unban_host("example.com", OPERATOR)
    assert [link.id for link in await restore(kurz, name)] == [link.id for link in made]


async def test_what_belongs_to_somebody_banned_stays_in_the_archive(kurz, archiver):
    made = await make_swept(kurz)
    await run_until_done(kurz, archiver)
    name = await only_file(kurz)
    ban = await kurz.bans.ban_account(OWNER, None, OPERATOR)
    await kurz.bans.store.settle(ban)  # nobody looks for links any more
    assert await restore(kurz, name) == [Obstacle.OWNER_BANNED] * 3
    await kurz.bans.unban_account(OWNER, OPERATOR)
    assert [link.id for link in await restore(kurz, name)] == [link.id for link in made]


async def test_restoring_twice_does_nothing_twice(kurz, archiver):
    made = await make_swept(kurz)
    await click(kurz, *made)
    await run_until_done(kurz, archiver)
    name = await only_file(kurz)
    first = await restore(kurz, name)
    mine = [await counted(kurz, link.id) for link in made]
    assert await restore(kurz, name) == [Obstacle.EXISTS] * 3
    assert [await kurz.store.find(link.id, Scope()) for link in made] == first
    assert [await counted(kurz, link.id) for link in made] == mine


async def test_a_link_can_go_and_come_back_again(kurz, archiver):
    """Its version grows all the while, also if it comes back from the older file."""
    [link] = await make_swept(kurz, 1)
    await run_until_done(kurz, archiver)
    old = await only_file(kurz)
    ends_at = kurz.clock.now() + timedelta(hours=1)
    await restore(kurz, old, expires_at=ends_at)
    await sweep(kurz, link)
    assert await run_until_done(kurz, archiver) == 1
    last = max(row.version for row in await rows(kurz, changes))
    [back] = await restore(kurz, old)
    assert back.version == last + 1


async def test_only_some_come_back_and_until_when(kurz, archiver):
    made = await make_swept(kurz)
    await run_until_done(kurz, archiver)
    name = await only_file(kurz)
    ends_at = kurz.clock.now() + timedelta(days=30)
    [back] = await restore(kurz, name, made[1].short_code, expires_at=ends_at)
    assert (back.id, back.expires_at) == (made[1].id, ends_at)
    assert await living_ids(kurz) == {made[1].id}
    with pytest.raises(LinkNotFound):
        await restore(kurz, name, "nobody")
    with pytest.raises(InstantRefused):
        await restore(kurz, name, made[0].short_code, expires_at=kurz.clock.now())


async def test_what_stands_in_the_way_is_told(kurz, archiver, clock):
    workspace = await team(kurz)
    [taken] = await make_swept(kurz, 1, custom_code="taken")
    [homeless] = await make_swept(kurz, 1, workspace_id=workspace.id, owner_id=None)
    [free] = await make_swept(kurz, 1)
    await run_until_done(kurz, archiver)
    await make_swept(kurz, 1, custom_code="taken")
    await kurz.workspaces.update(workspace.id, {"deleted_at": clock.now()})
    *refused, back = await restore(kurz, await only_file(kurz))
    assert refused == [Obstacle.TAKEN, Obstacle.NO_WORKSPACE]
    assert back.id == free.id
    assert not {taken.id, homeless.id} & await living_ids(kurz)


async def test_nothing_is_kept_of_who_deleted_their_account(kurz, archiver):
    """Neither of what they had deleted before, nor of what the reaper had swept."""
    [deleted] = await make_swept(kurz, 1)
    await revive(kurz, deleted)
    await kurz.links.delete(kurz.links.public_id(deleted), Scope())
    [swept] = await make_swept(kurz, 1)
    workspace = await team(kurz)
    [teams] = await make_swept(kurz, 1, workspace_id=workspace.id)
    [others] = await make_swept(kurz, 1, owner_id=OWNER + 1)
    await remove_owner(kurz, OWNER)
    assert await run_until_done(kurz, archiver, Ended.DELETED) == 2
    assert await run_until_done(kurz, archiver) == 2
    assert await archived_ids(kurz) == {teams.id: 1, others.id: 1}
    assert await living_ids(kurz) == set()
    gone = {row.link_id for row in await rows(kurz, changes, changes.c.version > 2)}
    assert {deleted.id, swept.id} <= gone


async def test_links_of_an_account_that_is_deleted(kurz, archiver):
    """A person's own does not come back; one in a workspace does, as nobody's."""
    workspace = await team(kurz)
    await make_swept(kurz, 1)
    [teams] = await make_swept(kurz, 1, workspace_id=workspace.id)
    await run_until_done(kurz, archiver)
    await remove_owner(kurz, OWNER)
    own, back = await restore(kurz, await only_file(kurz))
    assert own is Obstacle.NO_OWNER
    assert (back.id, back.owner_id) == (teams.id, None)
    assert await living_ids(kurz) == {teams.id}


async def test_the_change_log_is_read_once_for_a_file(kurz, archiver, monkeypatch):
    """It has no index by link, and may have millions of rows."""
    await make_swept(kurz)
    await run_until_done(kurz, archiver)
    name, reads = await only_file(kurz), []
    read = kurz.database.read

    async def watch(query: Any, *args: Any) -> Any:
        reads.append(query)
        return await read(query, *args)

    archive = await open_archive(kurz)
    monkeypatch.setattr(kurz.database, "read", watch)
    assert len([found async for found in archive.restore(name)]) == 3
    assert reads == [archive_storage.find_last_versions]


async def test_clicks_that_were_not_copied_when_it_went_come_back(kurz, archiver):
    """The row of a link is a little behind what was counted for it."""
    [link] = await make_swept(kurz, 1)
    await click(kurz, link)
    assert link.redirect_count == 0
    await run_until_done(kurz, archiver)
    [back] = await restore(kurz, await only_file(kurz))
    found = await kurz.store.find(link.id, Scope())
    assert found is not None
    assert found == back
    assert found.redirect_count == 1


async def test_an_anonymous_link_is_not_for_ever_unless_somebody_says(kurz, archiver, clock):
    [link] = await make_swept(kurz, 1, owner_id=None)
    columns = {"link_type": LinkType.TEMPORARY}
    assert await kurz.store.update(link, columns, clock.now()) is not None
    await run_until_done(kurz, archiver)
    clock.advance(days=3)
    [back] = await restore(kurz, await only_file(kurz))
    life = timedelta(hours=kurz.settings.temporary_link_hours)
    assert (back.link_type, back.expires_at) == (LinkType.TEMPORARY, clock.now() + life)


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
        kurz, lines, TransferFormat.JSONL, Target(owner_id=OWNER)
    )  # whose codes they are
    assert [it.outcome for it in results] == [Outcome.CREATED] * 3
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
    archive = await open_archive(kurz)
    files = [await archive.read(file.name) for file in await archive.list()]
    days = sorted([len(entry.archived.days) for entry in file] for file in files)
    assert days == [[1], [3, 2], [9]]


async def test_a_file_can_be_found_by_a_code(kurz, archiver):
    for _ in range(2):
        [link] = await make_swept(kurz, 1)
        await run_until_done(kurz, archiver)
    archive = await open_archive(kurz)
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
    [file] = await (await open_archive(kurz)).list()
    assert (file.name, file.links, file.created_at.date()) == (name, None, date(2026, 3, 3))
    [back] = await restore(kurz, name)
    assert back.id == link.id


async def test_files_that_cannot_be_restored(kurz, archiver):
    await make_swept(kurz, 1)
    await run_until_done(kurz, archiver)
    archive = await open_archive(kurz)
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
    archive = await open_archive(kurz)
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


async def test_a_file_is_signed_for_as_long_as_the_installation_lives(kurz, archiver, settings):
    """Another process, which knows nothing but the database, finds it signed."""
    [link] = await make_swept(kurz, 1)
    await run_until_done(kurz, archiver)
    name = await only_file(kurz)
    async with open_kurz(settings, kurz.clock) as other:
        [back] = await restore(other, name)
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
    archive = await open_archive(kurz)
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
    archive = await open_archive(kurz)
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


async def test_without_an_archive_there_is_none(kurz):
    parts = replace(kurz, settings=replace(kurz.settings, archive=None))
    with pytest.raises(SettingRefused):
        await open_archive(parts)
    assert await open_archiver(parts) is None
