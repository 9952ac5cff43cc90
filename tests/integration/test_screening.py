"""Lists at every entrance, and links that visitors are warned of."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import httpx2
import pytest

from kurz.clicks.segments import list_segments
from kurz.jobs.rescreen import ScreeningPace
from kurz.links.transfers import ImportTarget, OneTarget, RowResult, TransferFormat
from kurz.safety.audit import OPERATOR
from kurz.safety.bans import Ban, BanKind
from kurz.scheduling import RunContext
from kurz.settings.model import Settings
from kurz.storage.safety.ban_list import SqlBanStore
from kurz.transfer.importing import BATCH
from kurz.wiring.core import Kurz
from kurz.wiring.rescreen import make_screening
from kurz.wiring.screen import open_list_provider
from support.desk import Desk, code_of
from support.engines import sqlite_first
from support.feed import until_told
from support.journal_reader import read as read_clicks
from support.serving import serving

engine = sqlite_first  # the contracts of screening are tried on every engine
PAGE = {"accept": "text/html"}
BAD, GOOD = "https://www.bad.example/login", "https://good.example/login?a=%3Cb%3E"
REFUSED = (422, "destination-refused")
HELD = (403, "link-held")


@pytest.fixture
def blocklist(tmp_path: Path) -> Path:
    path = tmp_path / "block.txt"
    path.write_text("bad.example\n")
    return path


@pytest.fixture
def settings(settings: Settings, blocklist: Path) -> Settings:
    return replace(settings, blocklists=(blocklist,), metrics="public")


def rewrite(kurz: Kurz, blocklist: Path, text: str | None) -> None:
    """As if the watch had seen it. None: it is gone."""
    if text is None:
        blocklist.unlink()
    else:
        blocklist.write_text(text)
    kurz.screen.provider.compile()


async def screen(kurz: Kurz) -> None:
    await make_screening(kurz, ScreeningPace(settle_seconds=0)).screening.run(
        RunContext(asyncio.Event())
    )


async def create(desk: Desk, url: str, **body: Any) -> httpx2.Response:
    return await desk.ask("POST", desk.links, json={"original_url": url} | body)


async def test_no_link_is_made_or_edited_to_lead_there(place: Desk):
    refused = await create(place, BAD)
    assert code_of(refused) == REFUSED
    assert "block.txt" not in refused.text
    made = await place.make(GOOD)
    assert made["held_at"] is None
    assert code_of(await place.edit(made, original_url=BAD)) == REFUSED
    assert (await place.edit(made, original_url=GOOD + "/2")).status_code == 200


async def test_strangers_are_refused_too(client):
    for path, field in (("/api/v1/links", "original_url"), ("/api/urls/public", "originalUrl")):
        answer = await client.post(path, json={field: BAD})
        assert answer.status_code == 422, path
    answer = await client.post("/", content=BAD)
    assert answer.status_code == 422


async def test_each_item_of_many_is_screened(place: Desk):
    made = await place.make(GOOD)
    first, second, third = await place.bulk(
        {"action": "create", "link": {"original_url": BAD}},
        {"action": "create", "link": {"original_url": GOOD + "/2"}},
        {"action": "edit", "id": made["id"], "changes": {"original_url": BAD}},
    )
    assert [first["status"], second["status"], third["status"]] == [422, 201, 422]
    assert first["problem"]["type"].endswith("destination-refused")


async def test_each_row_of_a_file_is_screened(kurz, place: Desk, blocklist):
    async def send(data: str) -> dict[str, Any]:
        headers = {"content-type": "text/csv"}
        answer = await place.ask("POST", f"{place.links}/import", content=data, headers=headers)
        result: dict[str, Any] = answer.json()
        return result

    result = await send(f"code,url\nbad-one,{BAD}\ngood-one,{GOOD}\n")
    [row] = result["problems"]
    assert (row["outcome"], row["problem"]) == ("refused", "destination-refused")
    assert result["summary"]["created"] == 1
    rewrite(kurz, blocklist, None)
    await send(f"code,url\nheld-one,{GOOD}\n")
    link = await kurz.links.get_by_code(place.workspace_id or 0, "held-one")
    assert link.held_at == kurz.clock.now()


async def test_no_claim_makes_a_listed_link_last(kurz, client, people, blocklist):
    person = await people.add()
    made = (await client.post("/api/v1/links", json={"original_url": "https://a.example/"})).json()
    rewrite(kurz, blocklist, "a.example\n")

    async def claim(item: dict[str, Any]) -> dict[str, Any]:
        sent = {"items": [item]}
        answer = await client.post("/api/v1/claims", json=sent, headers=person.headers)
        result: dict[str, Any] = answer.json()["results"][0]
        return result

    proved = {name: made[name] for name in ("short_code", "claim_token", "original_url")}
    for item in (proved, {"original_url": made["original_url"]}):
        result = await claim(item)
        assert result["result"] == "not_claimed"
        assert result["problem"]["type"].endswith("destination-refused")


async def test_what_is_claimed_while_a_list_cannot_be_read_is_held(
    kurz, client, people, blocklist, clock
):
    person = await people.add()
    made = [(await client.post("/api/v1/links", json={"original_url": GOOD})).json()]
    rewrite(kurz, blocklist, None)
    made.append((await client.post("/api/v1/links", json={"original_url": GOOD})).json())

    async def claim(link: dict[str, Any]) -> dict[str, Any]:
        item = {name: link[name] for name in ("short_code", "claim_token")}
        sent = {"items": [item]}
        answer = await client.post("/api/v1/claims", json=sent, headers=person.headers)
        claimed: dict[str, Any] = answer.json()["results"][0]["link"]
        return claimed

    assert (await client.get(f"/{made[0]['short_code']}")).status_code == 302
    clock.advance(seconds=5)
    first = await claim(made[0])
    assert datetime.fromisoformat(first["held_at"]) == clock.now()
    assert code_of(await client.get(f"/{made[0]['short_code']}")) == HELD
    assert code_of(await client.get(f"/{made[1]['short_code']}")) == HELD
    rewrite(kurz, blocklist, "bad.example\n")
    assert (await claim(made[1]))["held_at"] is None  # it could be screened now
    assert (await client.get(f"/{made[1]['short_code']}")).status_code == 302
    await screen(kurz)
    assert (await client.get(f"/{made[0]['short_code']}")).status_code == 302


async def test_a_listed_link_is_not_restored(kurz, place: Desk, blocklist):
    made = await place.make("https://a.example/")
    await place.delete(made)
    rewrite(kurz, blocklist, "a.example\n")
    assert code_of(await place.restore(made)) == REFUSED
    rewrite(kurz, blocklist, "b.example\n")
    assert (await place.restore(made)).status_code == 200


async def test_a_workspace_does_not_lead_there_either(kurz, team: Desk, blocklist):
    path = f"/api/v1/workspaces/{team.workspace_id}"
    assert code_of(await team.ask("PATCH", path, json={"root_url": BAD})) == REFUSED
    assert (await team.ask("PATCH", path, json={"root_url": GOOD})).status_code == 200
    rewrite(kurz, blocklist, None)
    assert code_of(await team.ask("PATCH", path, json={"root_url": GOOD + "/2"})) == REFUSED


@pytest.mark.parametrize("is_listed", [True, False])
async def test_nor_does_it_lead_there_any_more(
    kurz, client, blocklist, add_workspace, add_domain, is_listed
):
    await add_domain("links.team.example", await add_workspace("team", root_url=GOOD))
    host = {"host": "links.team.example"}
    assert (await client.get("/", headers=host)).status_code == 302
    rewrite(kurz, blocklist, None)  # as links that were there before
    assert (await client.get("/", headers=host)).status_code == 302
    if is_listed:
        rewrite(kurz, blocklist, "good.example\n")
    else:
        await kurz.bans.ban_host("good.example", None, OPERATOR)
        await kurz.banned_hosts.refresh(is_feed_stale=True)
    assert code_of(await client.get("/", headers=host)) == (410, "link-banned")
    page = await client.get("/", headers=host | PAGE)
    assert (page.status_code, "location" in page.headers) == (410, False)


async def test_a_long_import_hears_of_bans_and_lists(kurz, blocklist):
    """In a process that hears of nothing else, such as `kurz import`."""
    kurz.settings.data_dir.mkdir(exist_ok=True)
    provider = open_list_provider(kurz.settings)  # the jobs process's
    provider.prepare()

    async def source() -> AsyncIterator[bytes]:
        good = "".join(f"https://fine.example/{n}\n" for n in range(BATCH))
        yield f"url\n{good}".encode()
        blocklist.write_text("a.example\n")
        provider.compile()
        await SqlBanStore(kurz.database).put(
            Ban(
                kind=BanKind.HOST,
                subject="b.example",
                reason=None,
                banned_by=None,
                banned_at=kurz.clock.now(),
            )
        )
        yield good.encode()
        yield b"https://a.example/\nhttps://b.example/\nhttps://c.example/\n"

    found: list[RowResult] = []
    async for results in kurz.importer.run(source(), TransferFormat.CSV, OneTarget(ImportTarget())):
        found += results
    assert [result.problem for result in found[-3:]] == [
        "destination-refused",
        "destination-refused",
        None,
    ]


async def test_visitors_of_a_held_link_are_warned(kurz, desk: Desk, blocklist):
    rewrite(kurz, blocklist, None)
    made = await desk.make(GOOD)
    assert made["held_at"] is not None
    assert (await desk.get(made)).json()["held_at"] == made["held_at"]
    client, path = desk.client, f"/{made['short_code']}"
    assert code_of(await client.get(path)) == HELD
    page = await client.get(path, headers=PAGE)
    assert page.status_code == 403
    assert "location" not in page.headers
    assert page.headers["cache-control"] == "no-store"
    assert 'href="https://good.example/login?a=%3Cb%3E"' in page.text
    assert 'rel="noopener noreferrer nofollow"' in page.text
    assert f'href="{made["short_url"]}+"' in page.text
    assert (await client.head(path, headers=PAGE)).status_code == 403
    preview = await client.get(path + "+", headers=PAGE)
    assert preview.status_code == 200
    assert "has not yet been able to check" in preview.text
    assert (await client.get(path + "+")).json()["is_held"] is True
    assert recorded(kurz) == 0


def recorded(kurz: Kurz) -> int:
    segments = list_segments(kurz.settings.journal_dir)
    return sum(1 for segment in segments for _ in read_clicks(segment))


async def test_a_held_link_with_a_limit_does_not_tell_where_it_leads(kurz, desk: Desk, blocklist):
    rewrite(kurz, blocklist, None)
    made = await desk.make(GOOD, max_clicks=1)
    for headers in (PAGE, {}):
        answer = await desk.client.get(f"/{made['short_code']}", headers=headers)
        assert answer.status_code == 403
        assert "good.example" not in answer.text
    assert (await desk.get(made)).json()["redirect_count"] == 0


async def test_a_held_link_ends_like_any_other(kurz, desk: Desk, blocklist, clock):
    rewrite(kurz, blocklist, None)
    made = await desk.make(GOOD, expires_in=60)
    path = f"/{made['short_code']}"
    assert code_of(await desk.client.get(path)) == HELD
    clock.advance(seconds=61)
    assert code_of(await desk.client.get(path)) == (410, "link-expired")


async def test_an_edit_that_could_be_screened_releases_a_link(kurz, desk: Desk, blocklist):
    rewrite(kurz, blocklist, None)
    made = await desk.make(GOOD)
    edited = (await desk.edit(made, title="the same place")).json()
    assert edited["held_at"] is not None
    rewrite(kurz, blocklist, "bad.example\n")
    edited = (await desk.edit(made, original_url=GOOD + "/2")).json()
    assert edited["held_at"] is None
    rewrite(kurz, blocklist, None)
    edited = (await desk.edit(made, original_url=GOOD + "/3")).json()
    assert edited["held_at"] is not None


@pytest.mark.parametrize("lane", ["on", "off"])
async def test_held_links_are_released_or_banned_for_every_visitor(kurz, blocklist, lane):
    kurz = replace(kurz, settings=replace(kurz.settings, fast_lane=lane))
    rewrite(kurz, blocklist, None)
    async with (
        serving(kurz) as port,
        httpx2.AsyncClient(base_url=f"http://127.0.0.1:{port}", trust_env=False) as client,
    ):
        codes = []
        for url in (GOOD, BAD):
            made = await client.post("/api/v1/links", json={"original_url": url})
            codes.append(made.json()["short_code"])
        for code in codes * 3:
            assert code_of(await client.get(f"/{code}")) == HELD
        rewrite(kurz, blocklist, "bad.example\n")
        await screen(kurz)
        good, bad = codes

        async def is_released() -> bool:
            return (await client.get(f"/{good}")).status_code == 302

        async def is_banned() -> bool:
            return (await client.get(f"/{bad}")).status_code == 410

        await until_told(is_released)
        await until_told(is_banned)
        metrics = (await client.get("/metrics")).text
        assert 'kurz_redirects_total{outcome="held"} 6.0' in metrics
