"""Stats over HTTP: who may see them, what they say, files, and what is live."""

import asyncio
import csv
import io
import json
from collections.abc import Mapping, MutableMapping
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx2
import pytest

from kurz.clicks.counts import VisitKind
from kurz.people.access import Permission, Role
from kurz.server.app import App
from kurz.wiring.worker import open_serving
from support.counted import Clicks
from support.engines import sqlite_first
from support.people import Person
from support.slack import slack

# Nobody follows a link here.
engine = sqlite_first  # the contracts of click reports are tried on every engine

FEBRUARY = {"from": "2026-02-01", "to": "2026-02-28"}
AT = datetime(2026, 2, 5, 10, tzinfo=UTC)


@pytest.fixture
def clicks(kurz):
    return Clicks(kurz.database)


@pytest.fixture
async def ada(people):
    return await people.add()


async def get(
    client: httpx2.AsyncClient, path: str, person: Person, **params: str
) -> dict[str, Any]:
    answer = await client.get(path, params=params, headers=person.headers)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def test_a_link_tells_of_its_clicks(client, kurz, clicks, ada, add_link):
    link = await add_link(custom_code="launch", owner_id=ada.id, tags=("a/b",))
    other = await add_link(custom_code="other", owner_id=ada.id, title="The other")
    clicks.add(link, AT, 3, country="DE", referrer="news.example", visitor="x")
    clicks.add(link, AT + timedelta(days=1), 1, sort=VisitKind.PRIVATE)
    clicks.add(link, AT, 2, sort=VisitKind.PREVIEW, browser="Slackbot")
    clicks.add(other, AT, 5)
    await clicks.save()
    path = f"/api/v1/links/{kurz.links.public_id(link)}/stats"
    found = await get(client, path, ada, **FEBRUARY, compare="true")
    assert found["totals"] == {"clicks": 6, "people": 4, "bots": 2, "daily_visitors": 1}
    assert (found["from"], found["to"]) == ("2026-02-01T00:00:00Z", "2026-03-01T00:00:00Z")
    assert (found["zone"], found["interval"]) == ("UTC", "day")
    assert len(found["series"]) == 28
    assert found["series"][4] == {
        "start": "2026-02-05T00:00:00Z",
        "clicks": 5,
        "people": 3,
        "bots": 2,
        "daily_visitors": 1,
    }
    assert found["breakdowns"]["countries"] == {
        "values": [{"value": "DE", "clicks": 3}],
        "other": 0,
        "unknown": 1,
    }
    assert found["breakdowns"]["kinds"]["values"][0] == {"value": "person", "clicks": 3}
    assert found["breakdowns"]["bots"]["values"] == [{"value": "Slackbot", "clicks": 2}]
    assert found["previous"]["clicks"] == 0
    assert found["all_time"] == {"clicks": 6, "mean_ms": 1.0, "deviation_ms": 0.0}
    assert found["links"] is None
    own = await get(client, "/api/v1/me/stats", ada, **FEBRUARY)
    assert own["totals"]["clicks"] == 11
    assert own["links"]["values"][0] == {
        "id": kurz.links.public_id(other),
        "short_code": "other",
        "short_url": "http://kurz.test/other",
        "title": "The other",
        "clicks": 5,
    }
    tagged = await get(client, "/api/v1/tags/a/b/stats", ada, **FEBRUARY)
    assert tagged["totals"]["clicks"] == 6
    hours = await get(client, path, ada, **FEBRUARY, interval="hour", zone="Asia/Kolkata")
    assert hours["series"][0]["start"] == "2026-02-01T00:30:00+05:30"
    assert hours["series"][0]["daily_visitors"] is None


async def test_a_workspace_shows_its_stats_to_viewers_and_nobody_else(
    client, kurz, clicks, people, ada, add_link
):
    team = await people.workspace(ada, "team")
    viewer, stranger = await people.add(), await people.add()
    await people.join(team, viewer, Role.VIEWER)
    link = await add_link(custom_code="ours", workspace_id=team.id, tags=("red",))
    clicks.add(link, AT, 2)
    await clicks.save()
    base = f"/api/v1/workspaces/{team.id}"
    public_id = kurz.links.public_id(link)
    for path in (f"{base}/stats", f"{base}/links/{public_id}/stats", f"{base}/tags/red/stats"):
        assert (await get(client, path, viewer, **FEBRUARY))["totals"]["people"] == 2
        for kind in ("", "/live?seconds=0", "/export"):
            refused = await client.get(path + kind, headers=stranger.headers)
            assert refused.status_code == 404, path + kind
    found = await get(client, f"{base}/stats", viewer, **FEBRUARY)
    assert found["links"]["values"][0]["short_url"] == "http://kurz.test/@team/ours"
    elsewhere = await client.get(f"/api/v1/links/{public_id}/stats", headers=ada.headers)
    assert elsewhere.status_code == 404


async def test_an_administrator_sees_the_whole_installation(client, clicks, people, ada, add_link):
    admin = await people.add(is_admin=True)
    team = await people.workspace(ada, "team")
    clicks.add(await add_link(custom_code="root"), AT, 1)
    clicks.add(await add_link(custom_code="ours", workspace_id=team.id), AT, 2)
    await clicks.save()
    found = await get(client, "/api/v1/admin/stats", admin, **FEBRUARY)
    assert [item["short_url"] for item in found["links"]["values"]] == [
        "http://kurz.test/@team/ours",
        "http://kurz.test/root",
    ]
    refused = await client.get("/api/v1/admin/stats", headers=ada.headers)
    assert refused.status_code == 403


async def test_a_key_needs_the_scope(client, people, ada):
    for scope, status in ((Permission.STATS_READ, 200), (Permission.LINKS_READ, 403)):
        key = await people.key(ada, scope)
        answer = await client.get("/api/v1/me/stats", headers={"x-api-key": key})
        assert answer.status_code == status


@pytest.mark.parametrize(
    "query",
    [
        "from=tomorrow",
        "from=2026-03-02&to=2026-03-01",
        "zone=Mars%2FOlympus",
        "zone=%00",
        "interval=decade",
        "interval=hour&from=2020-01-01",
        "from=2001-01-01",
        "top=0",
        "top=101",
        f"from={'9' * 500}",
    ],
)
async def test_a_period_that_is_none_is_refused(client, ada, query):
    for path in ("/api/v1/me/stats", "/api/v1/me/stats/export"):
        if "top" in query and "export" in path:
            continue
        answer = await client.get(f"{path}?{query}", headers=ada.headers)
        assert answer.status_code == 422, answer.text
        assert answer.headers["content-type"] == "application/problem+json"


async def test_files_have_all_numbers_and_run_nothing(client, kurz, clicks, ada, add_link):
    link = await add_link(custom_code="launch", owner_id=ada.id)
    clicks.add(link, AT, 2, referrer="=cmd|x", country="DE", visitor="ada")
    clicks.add(link, AT + timedelta(days=30), 1)
    await clicks.save()
    base = f"/api/v1/links/{kurz.links.public_id(link)}/stats/export"
    headers = ada.headers

    async def rows(what: str) -> list[dict[str, str]]:
        params = {**FEBRUARY, "what": what}
        answer = await client.get(base, params=params, headers=headers)
        assert answer.headers["content-type"] == "text/csv; charset=utf-8"
        name = f'attachment; filename="kurz-{what}.csv"'
        assert answer.headers["content-disposition"] == name
        return list(csv.DictReader(io.StringIO(answer.text)))

    series = await rows("series")
    assert len(series) == 28
    assert series[4]["people"] == "2"
    breakdowns = await rows("breakdowns")
    assert {"breakdown": "referrers", "value": "'=cmd|x", "clicks": "2"} in breakdowns
    events = await rows("events")
    assert len(events) == 2
    assert (events[0]["referrer"], events[0]["short_code"]) == ("'=cmd|x", "launch")
    assert events[0]["at"] == "2026-02-05T10:00:00Z"
    for what in ("series", "breakdowns", "events"):
        params = {**FEBRUARY, "what": what, "format": "json"}
        answer = await client.get(base, params=params, headers=headers)
        listed = json.loads(answer.text)
        assert len(listed) == len(await rows(what))
        assert "visitor" not in listed[0]
    assert json.loads(answer.text)[0]["referrer"] == "=cmd|x"
    empty = await client.get(
        base, params={"what": "events", "format": "json", "to": "2020-01-01"}, headers=headers
    )
    assert empty.json() == []


async def test_one_event_is_sent_at_once(client, kurz, clock, clicks, ada, add_link):
    link = await add_link(custom_code="launch", owner_id=ada.id)
    clicks.add(link, clock.now(), country="DE", visitor="secret")
    await clicks.save()
    answer = await client.get("/api/v1/me/stats/live?seconds=0", headers=ada.headers)
    assert answer.headers["content-type"].startswith("text/event-stream")
    assert answer.text.startswith("data: ")
    assert answer.text.endswith("\n\n")
    found = json.loads(answer.text.removeprefix("data: "))
    assert found["today"]["people"] == found["all_clicks"] == 1
    assert found["newest"][0]["short_code"] == "launch"
    assert found["newest"][0]["country"] == "DE"
    assert "secret" not in answer.text


class Listener:
    """Somebody who listens to live numbers, until the answer ends."""

    def __init__(self, app: App, path: str, headers: Mapping[str, str]) -> None:
        self.heard: list[bytes] = []
        self.has_heard = asyncio.Event()
        self._scope = {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.3"},
            "http_version": "1.1",
            "method": "GET",
            "scheme": "http",
            "path": path,
            "raw_path": path.encode(),
            "query_string": b"",
            "root_path": "",
            "headers": [
                (name.encode(), value.encode())
                for name, value in {"host": "kurz.test", **headers}.items()
            ],
            "client": ("127.0.0.1", 5000),
            "server": ("kurz.test", 80),
        }
        self.task = asyncio.create_task(app(self._scope, self._receive, self._send))

    async def _receive(self) -> dict[str, Any]:
        await asyncio.sleep(3600)
        raise AssertionError("the answer should have ended")

    async def _send(self, message: MutableMapping[str, Any]) -> None:
        if body := message.get("body"):
            self.heard.append(body)
            self.has_heard.set()


class Gone(Listener):
    """One whose answer cannot even begin."""

    async def _send(self, message: MutableMapping[str, Any]) -> None:
        raise OSError("The connection is closed.")


async def test_listeners_who_are_gone_before_the_answer_are_not_counted(kurz, ada):
    path = "/api/v1/me/stats/live"
    async with open_serving(kurz) as serving:
        for _ in range(kurz.settings.limit_streams + 1):
            await Gone(serving.app, path, ada.headers).task
        listener = Listener(serving.app, path, ada.headers)
        await listener.has_heard.wait()
        serving.on_stop()
        await listener.task
    assert [body[:6] for body in listener.heard] == [b"data: "]


async def test_live_numbers_end_when_the_server_stops(kurz, ada):
    async with open_serving(kurz) as serving:
        listener = Listener(serving.app, "/api/v1/me/stats/live", ada.headers)
        await listener.has_heard.wait()
        serving.on_stop()
        await listener.task
    assert [body[:6] for body in listener.heard] == [b"data: "]


async def test_whoever_may_not_any_more_hears_no_more(kurz, people, connect, add_link):
    """What ends it happens in another process, and nobody clicks meanwhile."""
    admin, deposed = [await people.add(is_admin=True) for _ in range(2)]
    owner, removed, banned, gone, holder = [await people.add() for _ in range(5)]
    team = await people.workspace(owner)
    await people.join(team, removed, Role.VIEWER)
    link = await add_link(owner_id=banned.id)
    key = await people.key(holder, Permission.STATS_READ)
    key_id = (await kurz.keys.list(holder.id))[0].id
    elsewhere = await connect(fast_lane="off")
    workspace, accounts = f"/api/v1/workspaces/{team.id}", "/api/v1/admin/accounts"

    async def act(method: str, path: str, by: Person, body: Any = None) -> None:
        answer = await elsewhere.request(method, path, headers=by.headers, json=body)
        assert answer.status_code in (200, 204), answer.text

    async with open_serving(kurz) as serving:

        def listen(path: str, headers: Mapping[str, str]) -> Listener:
            return Listener(serving.app, f"{path}/stats/live", headers)

        stays = [listen(workspace, owner.headers), listen("/api/v1/admin", admin.headers)]
        ends = [
            listen("/api/v1/me", gone.headers),
            listen("/api/v1/me", {"x-api-key": key}),
            listen(workspace, removed.headers),
            listen("/api/v1/admin", deposed.headers),
            listen(f"/api/v1/links/{kurz.links.public_id(link)}", banned.headers),
        ]
        try:
            async with asyncio.timeout(60):
                await asyncio.gather(*(each.has_heard.wait() for each in (*stays, *ends)))
            await act("POST", "/api/v1/auth/sign-out", gone)
            await act("DELETE", f"/api/v1/keys/{key_id}", holder)
            await act("DELETE", f"{workspace}/members/{removed.id}", owner)
            await act("PATCH", f"{accounts}/{deposed.id}", admin, {"is_admin": False})
            await act("PATCH", f"{accounts}/{banned.id}", admin, {"is_disabled": True})
            async with asyncio.timeout(slack(5)):
                await asyncio.gather(*(each.task for each in ends))
            assert not any(each.task.done() for each in stays)
        finally:
            serving.on_stop()
        await asyncio.gather(*(each.task for each in stays))
    # Being asked who they are is no reason to tell them anything.
    assert {b"".join(each.heard).count(b"\n\n") for each in (*stays, *ends)} == {1}


async def test_asking_again_who_listens_is_no_query_each_time(statements, client, ada):
    statements.clear()
    answer = await client.get("/api/v1/me/stats/live?seconds=2", headers=ada.headers)
    assert answer.status_code == 200
    asked = [text for text in statements if "accounts" in text]
    assert 1 <= len(asked) <= 2, asked
