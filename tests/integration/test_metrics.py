"""The numbers for Prometheus: who may read them, what they count, and that workers share them."""

import re
import time
from collections import Counter

import httpx2

from kurz import metrics
from kurz.links.model import Status
from kurz.server.scoreboard import Scoreboard

TOKEN = "pZ3kd93jfKs8w0Zl4mQx7vB1nC5tY6uR"
URL = "https://example.com/"


def numbers(answer: httpx2.Response) -> dict[str, float]:
    """By name and labels."""
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/plain")
    lines = [line for line in answer.text.splitlines() if not line.startswith("#")]
    return {name: float(value) for name, _, value in (line.rpartition(" ") for line in lines)}


async def test_strangers_may_not_read_them(client):
    for headers in ({}, {"authorization": f"Bearer {TOKEN}"}, {"authorization": "Bearer None"}):
        assert (await client.get("/metrics", headers=headers)).status_code == 401


async def test_an_administrator_may_and_other_people_may_not(client, people):
    admin, other = await people.add(is_admin=True), await people.add()
    assert (await client.get("/metrics", headers=admin.headers)).status_code == 200
    assert (await client.get("/metrics", headers=other.headers)).status_code == 403


async def test_a_token_opens_them_and_nothing_else(connect):
    client = await connect(metrics_token=TOKEN)
    allowed = {"authorization": f"Bearer {TOKEN}"}
    assert (await client.get("/metrics", headers=allowed)).status_code == 200
    assert (await client.get("/api/v1/links", headers=allowed)).status_code == 401
    for wrong in (TOKEN[:-1], TOKEN + "x", TOKEN.lower(), ""):
        answer = await client.get("/metrics", headers={"authorization": f"Bearer {wrong}"})
        assert answer.status_code == 401


async def test_they_can_be_public(connect):
    client = await connect(metrics="public")
    assert numbers(await client.get("/metrics"))["kurz_workers"] == 1
    elsewhere = await connect("http://10.0.0.7:9000", metrics="public", base_url="https://go.test")
    assert (await elsewhere.get("/metrics")).status_code == 200


async def test_every_outcome_is_counted_once(kurz, connect, add_link, clock):
    client = await connect(metrics="public", rate_limits="on")
    live, once = await add_link(URL), await add_link(URL, max_clicks=1)
    short = await add_link(URL, expires_in_seconds=1)
    banned = await add_link(URL, status=Status.BANNED)
    held = await add_link(URL)
    await kurz.store.update(held, {"held_at": clock.now()}, clock.now())
    clock.advance(seconds=1)
    for link in (live, live, once, once, short, banned, held):
        await client.get(f"/{link.short_code}")
    await client.head(f"/{live.short_code}")
    await client.get(f"/{live.short_code}+")
    misses: Counter[int] = Counter()
    while misses[429] < 2:  # 30 a minute are free, a few more on a slow machine
        misses[(await client.get(f"/nothing{misses.total()}")).status_code] += 1
    found = numbers(await client.get("/metrics"))
    counted = {
        outcome: found[f'kurz_redirects_total{{outcome="{outcome}"}}']
        for outcome in metrics.OUTCOMES
    }
    assert counted == {
        "redirect": 3,
        "exhausted": 1,
        "expired": 1,
        "banned": 1,
        "held": 1,
        "missing": misses[404],
        "limited": misses[429],
        "unavailable": 0,
    }
    assert found["kurz_redirect_seconds_count"] == 3
    assert found['kurz_redirect_seconds_bucket{le="+Inf"}'] == 3
    assert found["kurz_journal_records_total"] == 3
    assert found["kurz_hot_links"] == 5
    # One more of the exhausted link.
    assert found["kurz_lookups_total"] == 6 + misses.total()


async def test_buckets_grow_and_labels_are_few(connect, add_link):
    client = await connect(metrics="public")
    await client.get(f"/{(await add_link(URL)).short_code}")
    answer = await client.get("/metrics")
    buckets = [
        (float(bound), float(count))
        for bound, count in re.findall(r'_bucket\{le="([^"]+)"\} (\S+)', answer.text)
    ]
    assert buckets == sorted(buckets)
    assert buckets[-1][1] == 1
    names = set(re.findall(r"(\w+)=\"", answer.text))
    assert names == {"version", "outcome", "status", "le", "process"}
    assert len(answer.text.splitlines()) < 400


def test_what_a_worker_counted_outlives_it():
    board = Scoreboard(("counted", "now"), slots=2)
    first = board.row(0, ("now",))
    first.write({"counted": 5, "now": 7})
    second = board.row(0, ("now",))
    second.write({"counted": 2, "now": 1})
    board.row(1).write({"counted": 10, "now": 1})
    assert dict(board.each()) == {0: {"counted": 7, "now": 1}, 1: {"counted": 10, "now": 1}}


def test_gauges_are_of_those_who_live():
    nothing = dict.fromkeys(metrics.NAMES, 0)
    now = 1_800_000_000
    alive = {**nothing, metrics.ALIVE_AT: now, metrics.CAUGHT_UP_AT: now - 3, "hot_links": 10}
    dead = {**nothing, metrics.ALIVE_AT: now - 60, "hot_links": 99, "outcome_redirect": 8}
    text = metrics.render([alive, dead], "1.0", now).decode()
    assert "\nkurz_workers 1.0\n" in text
    assert "\nkurz_hot_links 10.0\n" in text
    assert "\nkurz_feed_age_seconds 3.0\n" in text
    assert '\nkurz_redirects_total{outcome="redirect"} 8.0\n' in text


def test_all_workers_are_counted_together(start_program):
    program = start_program(KURZ_WORKERS="2", KURZ_METRICS="public")
    for index in range(20):
        with program.client() as client:  # a connection each: both workers get some
            assert client.get(f"/nothing{index}").status_code == 404
    with program.client() as client:
        time.sleep(1.5)  # workers write their numbers once a second
        found = numbers(client.get("/metrics"))
    assert found["kurz_workers"] == 2
    for process in ("worker-1", "worker-2", "jobs", "supervisor"):
        assert 10e6 < found[f'kurz_process_resident_bytes{{process="{process}"}}'] < 1e9
        assert found[f'kurz_process_cpu_seconds_total{{process="{process}"}}'] > 0
    assert found['kurz_redirects_total{outcome="missing"}'] == 20
