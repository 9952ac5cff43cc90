"""Export and import keep their promises on both engines."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import sqlalchemy as sa

from kurz.errors import StoreUnavailable
from kurz.links.ending.retention import EndedKind, RetentionAction
from kurz.links.model import Draft, Edit, Filter, Link, LinkType, Scope, Status, Strategy
from kurz.links.transfers import ImportTarget, OneTarget, RowOutcome, Summary, TransferFormat
from kurz.people.own_hosts import OwnHosts
from kurz.storage.ending.reaping import SqlReaperStore
from kurz.storage.links.bulk import SqlBulkStore
from kurz.storage.schema import links as link_tables
from kurz.transfer.codes import RowCodes
from kurz.transfer.errors import FileRefused
from kurz.transfer.importing import BATCH, Importer
from kurz.wiring.core import Kurz, open_kurz
from kurz.wiring.engine import prepare
from support.clock import FrozenClock
from support.transfer import ROOT, chunks, count, counts, exported, outcomes, records, run, team

KINDS = pytest.mark.parametrize("kind", list(TransferFormat))
A_TICK = timedelta(microseconds=1)
HOSTILE = (
    "=HYPERLINK(1)",
    "'=1",
    '"quoted", and; more',
    "a|b\\|c",
    "Ünï 😀 中文",
    "@x",
    "-1+1",
    "' OR 1=1 --",
)


class Places:
    """Rows go where their column says."""

    def __init__(self, kurz: Kurz) -> None:
        self._kurz = kurz

    async def find(self, workspace: str) -> ImportTarget | None:
        if not workspace:
            return ROOT
        found = await self._kurz.workspaces.find_by_slug(workspace)
        if found is None:
            return None
        return ImportTarget(workspace_id=found.id, strategy=Strategy.DETERMINISTIC)


async def fill(kurz: Kurz, clock: FrozenClock, workspace_id: int) -> None:
    """Links in every state, with every field, and with hostile text in them."""
    now = kurz.clock.now()

    async def make(place=workspace_id, **fields: Any) -> Link:
        url = f"https://example.com/{len(made)}?a=b#c"
        link = (await kurz.links.create(Draft(original_url=url, workspace_id=place, **fields))).link
        made.append(link)
        return link

    made: list[Link] = []
    for text in HOSTILE:
        await make(title=text, notes=f"{text}\nsecond line\t\n=3", tags=(text, "plain"))
    await make(expires_at=now + A_TICK, redirect_status=308)
    await make(starts_at=now + timedelta(days=1), expires_at=now + timedelta(days=2))
    await make(max_clicks=5, forward_query=True, custom_code="-minus")
    await make(custom_code="_under")
    await make(place=0, tags=("root",))
    deleted, paused, swept = await make(), await make(place=0), await make(expires_at=now + A_TICK)
    clock.advance(seconds=1)  # of what is in the trash, an import keeps no instant but the present
    at = clock.micros()
    await kurz.links.delete(kurz.links.public_id(deleted), Scope())
    await kurz.links.edit(kurz.links.public_id(paused), Scope(), Edit(is_paused=True))
    banned, used = await make(), await make(max_clicks=1)
    statement = sa.update(link_tables.links)
    changes: dict[int, dict[str, Any]] = {
        banned.id: {"status": "BANNED"},
        swept.id: {"status": "DELETED", "deleted_at": at, "swept_at": at, "updated_at": at},
        used.id: {"clicks_used": 1, "redirect_count": 7, "avg_redirect_ms": 0.1 + 0.2},
    }
    for link_id, values in changes.items():
        query = statement.where(link_tables.links.c.id == link_id).values(values)
        await kurz.database.write(sa.Connection.execute, query)
    anonymous = Draft(original_url="https://example.com/t", is_anonymous=True)
    await kurz.links.create(anonymous)


@pytest.fixture
async def other(settings, make_database, tmp_path, clock) -> AsyncIterator[Kurz]:
    """A second, empty kurz on the same engine."""
    url = None if settings.is_embedded else make_database()
    elsewhere = replace(settings, data_dir=tmp_path / "other", database_url=url)
    await prepare(elsewhere, upgrades_postgres=False)
    async with open_kurz(elsewhere, clock) as parts:
        yield parts


@KINDS
async def test_what_was_exported_is_the_same_after_an_import_elsewhere(kurz, other, clock, kind):
    workspace = await team(kurz)
    await team(other)
    await fill(kurz, clock, workspace.id)
    slugs = {workspace.id: workspace.slug}
    data = await exported(kurz, kind, slugs=slugs, with_trash=True)
    results = await run(other, data, kind, Places(other))
    assert {result.outcome for result in results} == {RowOutcome.CREATED}
    again = await exported(other, kind, slugs=slugs, with_trash=True)
    assert again.replace(b"random", b"custom") == data.replace(b"random", b"custom")
    assert (await counts(other))[2] == (await counts(kurz))[2]


async def test_what_was_in_a_trash_for_long_is_not_purged_at_once(kurz, other, clock):
    """Its time begins anew, also for what the reaper moved there; it can be restored."""
    await fill(kurz, clock, 0)
    clock.advance(days=1000)
    data = await exported(kurz, TransferFormat.JSONL, with_trash=True)
    await run(other, data, TransferFormat.JSONL)
    store = SqlReaperStore(other.database, clock, timedelta())
    trash = await records(other, with_trash=True)
    ended = {it["short_code"]: it for it in trash if it["status"] == "DELETED"}
    assert sorted(it["swept_at"] is None for it in ended.values()) == [False, True]
    for kind in EndedKind.SWEPT, EndedKind.DELETED:
        before = clock.now() - A_TICK
        assert await store.sweep(kind, RetentionAction.PURGE, before, clock.now(), 1000) == 0
    for code in ended:
        link = await other.store.find_by_code(0, code)
        assert link is not None
        restored = await other.links.restore(other.links.public_id(link), Scope())
        assert restored.status is Status.ACTIVE


async def test_imported_links_are_found_by_their_tags_in_the_list_or_in_the_trash(kurz):
    data = (
        "code,url,tags,deleted_at\n"
        "live,https://example.com/1,x|y|x,\n"
        "gone,https://example.com/2,x|x,2020-01-01\n"
    )
    workspace = await team(kurz)
    await run(kurz, data, target=ImportTarget(workspace_id=workspace.id))
    for wanted, codes in (
        (Filter(tag="x"), ["live"]),
        (Filter(tag="x", status=Status.DELETED), ["gone"]),
        (Filter(tag="y", status=Status.DELETED), []),
    ):
        page = await kurz.links.list(Scope(workspace.id), wanted)
        assert [link.short_code for link in page.links] == codes
        assert page.total == len(codes)


async def test_an_imported_link_is_a_link_like_any_other(kurz):
    data = "code,url,tags,created,clicks\nabc,https://example.com/ü,x|y,2020-01-01,5\n"
    workspace = await team(kurz)
    await run(kurz, data, target=ImportTarget(workspace_id=workspace.id, owner_id=3))
    link = await kurz.store.find_by_code(workspace.id, "abc")
    assert link == Link(
        id=link.id,
        workspace_id=workspace.id,
        short_code="abc",
        version=1,
        strategy=Strategy.CUSTOM,
        original_url="https://example.com/ü",
        canonical_url="https://example.com/%C3%BC",
        location="https://example.com/%C3%BC",
        owner_id=3,
        link_type=LinkType.PERMANENT,
        status=Status.ACTIVE,
        created_at=datetime(2020, 1, 1, tzinfo=UTC),
        updated_at=datetime(2020, 1, 1, tzinfo=UTC),
        tags=("x", "y"),
        redirect_count=5,
    )
    edited = await kurz.links.edit(kurz.links.public_id(link), Scope(), Edit(title="x"))
    assert edited.version == 2
    assert (await kurz.links.create(Draft(original_url="https://example.com/"))).link.id > link.id


async def test_every_new_link_is_in_the_change_log(kurz, clock):
    await run(kurz, "code,url,created\na,https://example.com/,2020-01-01\nb,https://x.example/,\n")

    def select(connection: sa.Connection) -> list[tuple[Any, ...]]:
        found = sa.select(link_tables.changes, link_tables.links.c.short_code).join(
            link_tables.links, link_tables.links.c.id == link_tables.changes.c.link_id
        )
        return [tuple(row) for row in connection.execute(found.order_by(link_tables.changes.c.id))]

    found = await kurz.database.read(select)
    assert [(row[3], row[-1], row[4]) for row in found] == [("a", "a", 1), ("b", "b", 1)]
    assert {row[5] for row in found} == {int(clock.now().timestamp() * 1_000_000)}


async def test_an_import_that_runs_again_changes_nothing(kurz):
    data = (
        "code,url,tags\na,https://example.com/a,x\nb,https://example.com/b,\n,https://e.example/,\n"
    )
    first = await run(kurz, data)
    before, rows = await records(kurz), await counts(kurz)
    again = await run(kurz, data.replace(",x", ",y"))
    assert outcomes(first) == ["created"] * 3
    assert outcomes(again) == ["existed"] * 3
    assert [result.short_code for result in again] == [result.short_code for result in first]
    assert (await records(kurz), await counts(kurz)) == (before, rows)


async def test_a_code_that_leads_elsewhere_is_a_conflict(kurz):
    await kurz.links.create(Draft(original_url="https://example.com/1", custom_code="taken"))
    [result] = await run(kurz, "code,url\ntaken,https://example.com/2\n")
    assert (result.outcome, result.problem, result.line) == ("conflict", "custom-code-taken", 2)
    assert "taken" in (result.reason or "")
    [result] = await run(kurz, "code,url\ntaken,https://example.com/1#elsewhere\n")
    assert result.outcome is RowOutcome.CONFLICT


async def test_two_rows_of_a_file_are_judged_like_two_files(kurz):
    data = (
        "code,url\na,https://example.com/1\na,https://example.com/1\na,https://example.com/2\n"
        ",https://example.com/3\n,https://example.com/3\n"
    )
    expected = ["created", "existed", "conflict", "created", "existed"]
    assert outcomes(await run(kurz, data, is_dry=True)) == expected
    assert outcomes(await run(kurz, data)) == expected


async def test_rows_are_told_in_their_order_with_their_lines(kurz):
    data = 'code,url\n"a","https://example.com/a"\nbad/,x\n"c\n\n",https://x\nd,https://example.com/d\n'
    results = await run(kurz, data)
    assert [(result.line, str(result.outcome), result.last_line) for result in results] == [
        (2, "created", None),
        (3, "refused", None),
        (4, "refused", 6),
        (7, "created", None),
    ]


async def test_a_row_that_is_taken_says_where_it_ends(kurz):
    await run(kurz, "code,url\na,https://example.com/a\n")
    [result] = await run(kurz, 'code,url,notes\na,https://example.com/b,"two\nlines"\n')
    assert (result.line, str(result.outcome), result.last_line) == (2, "conflict", 3)


async def test_a_dry_run_says_the_same_and_writes_nothing(kurz):
    await kurz.links.create(Draft(original_url="https://example.com/1", custom_code="taken"))
    data = (
        "code,url\ntaken,https://example.com/1\ntaken,https://example.com/2\nfree,https://example.com/\n"
        "x,javascript:1\n,https://example.com/3\n"
    )
    before = await counts(kurz)
    dry = await run(kurz, data, is_dry=True)
    assert await counts(kurz) == before
    assert dry == await run(kurz, data)
    assert outcomes(dry) == ["existed", "conflict", "created", "refused", "created"]


async def test_more_than_a_batch_goes_in(kurz):
    total = 2 * BATCH + 7
    data = "code,url\n" + "".join(f"c{n},https://example.com/{n}\n" for n in range(total))
    broken = data.replace("c5,https", "c5,ftp")
    assert outcomes(await run(kurz, broken)).count("created") == total - 1
    again = Summary()
    again.add(await run(kurz, data))
    assert again.view() == {
        "rows": total,
        "created": 1,
        "existed": total - 1,
        "conflict": 0,
        "refused": 0,
    }
    found = await records(kurz)
    assert [item["short_code"] for item in found[:5]] == [f"c{n}" for n in range(5)]
    assert len({item["short_code"] for item in found}) == total


async def test_an_import_that_was_cut_off_is_finished_by_another(kurz):
    total = 3 * BATCH
    data = "url\n" + "".join(f"https://example.com/{n}\n" for n in range(total))

    async def broken() -> AsyncIterator[bytes]:
        yield data[: len(data) * 2 // 3].encode()
        raise ConnectionResetError

    with pytest.raises(ConnectionResetError):
        async for _ in kurz.importer.run(broken(), TransferFormat.CSV, OneTarget(ROOT)):
            pass
    assert 0 < await count(kurz, link_tables.links) < total
    assert {str(result.outcome) for result in await run(kurz, data)} == {"created", "existed"}
    assert (await counts(kurz))[:2] == [total, total]


async def test_whoever_stops_listening_stops_the_import(kurz):
    data = "url\n" + "".join(f"https://example.com/{n}\n" for n in range(4 * BATCH))
    results = kurz.importer.run(chunks(data.encode()), TransferFormat.CSV, OneTarget(ROOT))
    await anext(results)
    await results.aclose()
    assert await count(kurz, link_tables.links) <= 2 * BATCH


async def test_rows_go_where_their_column_says(kurz):
    workspace = await team(kurz)
    data = (
        "code,url,workspace\na,https://example.com/,team\na,https://example.com/,\n"
        "a,https://example.com/,nobody\n"
    )
    results = await run(kurz, data, target=Places(kurz))
    assert outcomes(results) == ["created", "created", "refused"]
    assert results[2].problem == "workspace-not-found"
    assert await kurz.store.find_by_code(workspace.id, "a") is not None
    assert await kurz.store.find_by_code(0, "a") is not None


async def test_a_url_that_leads_back_is_refused(kurz):
    [result] = await run(kurz, "url\nhttps://kurz.example/x\n", own_hosts=("kurz.example",))
    assert (result.problem, result.url_problem) == ("url-refused", "own")
    assert "points back" in (result.reason or "")
    assert result.view()["url_problem"] == "own"


async def test_a_file_of_something_else_is_refused_before_anything_is_written(kurz):
    with pytest.raises(FileRefused, match="“price”"):
        await run(kurz, "url,price\nhttps://example.com/,7\n")
    assert await count(kurz, link_tables.links) == 0


async def test_parallel_imports_of_one_file_make_each_link_once(kurz):
    data = "code,url\n" + "".join(f"c{n},https://example.com/{n}\n" for n in range(BATCH + 50))
    found = await asyncio.gather(*(run(kurz, data) for _ in range(3)))
    results = [outcome for each in found for outcome in outcomes(each)]
    assert results.count("created") == BATCH + 50
    assert set(results) == {"created", "existed"}
    assert (await counts(kurz))[:2] == [BATCH + 50, BATCH + 50]


class Failing:
    """A store that is out of reach for the first inserts."""

    def __init__(self, store: SqlBulkStore, times: int) -> None:
        self._store = store
        self._times = times

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def insert(self, *arguments: Any) -> Any:
        self._times -= 1
        if self._times >= 0:
            raise StoreUnavailable("gone")
        return await self._store.insert(*arguments)


@pytest.mark.parametrize(("times", "is_ended"), [(2, False), (9, True)])
async def test_a_short_outage_does_not_end_an_import(kurz, times, is_ended):
    store = Failing(SqlBulkStore(kurz.database), times)
    codes = RowCodes(b"k" * 32, 7)
    importer = Importer(store, codes, OwnHosts(None, kurz.domains), kurz.clock)
    broken = replace(kurz, importer=importer)
    if is_ended:
        with pytest.raises(StoreUnavailable):
            await run(broken, "url\nhttps://example.com/\n")
    else:
        assert outcomes(await run(broken, "url\nhttps://example.com/\n")) == ["created"]
