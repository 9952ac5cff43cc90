"""The operations of `growth.py`, through the services that the API calls."""

import asyncio
import itertools
import random
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

import sqlalchemy as sa

from growth_judge import Expectation
from growth_rows import OWNER_ID, SPACE, add_account, owner_of
from kurz.clicks.batch import Subject, SubjectKind
from kurz.clicks.exports import StatsFormat, write_events
from kurz.clicks.periods import Interval, Period, last_days, read_period
from kurz.clicks.stats import EVERYTHING, About
from kurz.links.model import ROOT_WORKSPACE_ID, Draft, Filter, Scope, Sort, Status
from kurz.links.transfers import TransferFormat
from kurz.paging import Part
from kurz.redirect.hot import HotSet
from kurz.redirect.resolve import Resolver
from kurz.scheduling import RunContext, RunOutcome
from kurz.storage.followers.day_folder import DayFolder
from kurz.storage.followers.month_folder import RUN_SECONDS, MonthFolder
from kurz.storage.schema.clicks import click_events
from kurz.storage.schema.links import link_tags, links
from kurz.storage.schema.people import ending_accounts
from kurz.wiring.core import Kurz
from kurz.wiring.reaper import open_reaper
from list_rows import TAGS

LOOKUPS = 200
LONG_SECONDS = 3600.0  # more than any run takes
CREATES = 20
EXPORTED = 5000
DAYS = 30
LINK_CLICKS = 250
TAG_CLICKS = 4000
LIST_MS = 20  # the goal of a page
LOOKUP_MS = 0.05  # a larger database is not in the caches as a whole
FLAT = Expectation()
MANY = Expectation(floor_ms=0)  # done many times in a round, so that noise cancels out
PAGE = Expectation(LIST_MS)
CAPPED = Expectation(LIST_MS, floor_ms=LIST_MS)  # read as a whole up to some thousand links
EVERYBODYS_CLICKS = "export everybody's clicks, for each"
COMMON, RARE = "example", "okapi"
NEW_ACCOUNT_ID = 987_654_321
OWN = Scope(ROOT_WORKSPACE_ID, OWNER_ID)
ANYBODYS = Filter(with_deleted=True)


@dataclass(frozen=True)
class Target:
    """A database, and what is asked for in it."""

    kurz: Kurz
    resolver: Resolver
    codes: Iterator[str]  # each only once
    numbers: Iterator[int]
    link: About
    tag: About
    period: Period


Act = Callable[[Target], Awaitable[int | None]]


@dataclass(frozen=True)
class Operation:
    """`act` returns how many of it were done, if not one. `before` and `after` are not measured."""

    name: str
    act: Act
    expectation: Expectation = FLAT
    before: Act | None = None
    after: Act | None = None


@asynccontextmanager
async def aimed(kurz: Kurz) -> AsyncIterator[Target]:
    now = kurz.clock.now()
    period = read_period(now, last_days(now, DAYS, "UTC"), None, "UTC")
    clicks = await kurz.database.read(_count, period.days)
    own = [link_id for link_id in clicks if owner_of(link_id) == OWNER_ID]
    link_id = min(own, key=lambda link_id: abs(clicks[link_id] - LINK_CLICKS))
    by_tag = await kurz.database.read(_count_tags, clicks)
    tag = min(by_tag, key=lambda tag: abs(by_tag[tag] - TAG_CLICKS))
    codes = await kurz.database.read(_codes)
    random.Random(3).shuffle(codes)
    routes = kurz.engine.open_routes(kurz.database, kurz.replicas)
    try:
        yield Target(
            kurz,
            Resolver(HotSet(1_000_000, 2**30), routes, kurz.clock),
            iter(codes),
            itertools.count(),
            About(Subject(SubjectKind.LINK, link_id), SPACE),
            await kurz.stats.about_tag(SPACE, tag),
            period,
        )
    finally:
        routes.close()


def _count(connection: sa.Connection, days: range) -> Counter[int]:
    """The stored clicks of each link in these days."""
    query = (
        sa.select(click_events.c.link_id, sa.func.count().label("clicks"))
        .where(click_events.c.day >= days.start, click_events.c.day < days.stop)
        .group_by(click_events.c.link_id)
    )
    return Counter({row.link_id: row.clicks for row in connection.execute(query)})


def _count_tags(connection: sa.Connection, clicks: Counter[int]) -> Counter[str]:
    """The clicks of each tag. A join of both tables takes hours on SQLite."""
    query = sa.select(link_tags.c.tag, link_tags.c.link_id).where(link_tags.c.space == SPACE)
    found: Counter[str] = Counter()
    for tag, link_id in connection.execute(query):
        found[tag] += clicks[link_id]
    return found


def _codes(connection: sa.Connection) -> list[str]:
    """Of the whole table, in its order."""
    count = connection.execute(sa.select(sa.func.max(links.c.id))).scalar_one()
    ids = range(1, count + 1, max(count // 10_000, 1))
    query = sa.select(links.c.short_code).where(links.c.id.in_(ids))
    return list(connection.execute(query).scalars())


async def _redirect(target: Target) -> int:
    codes = list(itertools.islice(target.codes, LOOKUPS))
    for code in codes:
        await target.resolver.get(ROOT_WORKSPACE_ID, code)
    return len(codes)


async def _create(target: Target) -> int:
    for number in itertools.islice(target.numbers, CREATES):
        url = f"https://new.example.com/some/path-{number}?utm_source=letter"
        draft = Draft(original_url=url, owner_id=OWNER_ID, tags=(TAGS[0],))
        await target.kurz.links.create(draft)
    return CREATES


def _list(scope: Scope, wanted: Filter) -> Act:
    async def act(target: Target) -> None:
        await target.kurz.links.list(scope, wanted)

    return act


async def _tagged(target: Target) -> None:
    wanted = Filter(tag=TAGS[0], status=Status.ACTIVE, sort=Sort.CLICKS_DOWN)
    await target.kurz.links.list(OWN, wanted)


async def _tags(target: Target) -> None:
    await target.kurz.tagging.list(SPACE, Part(None, 200))


async def _stats(target: Target) -> None:
    await target.kurz.stats.get(target.link, target.period, Interval.DAY, compares=True)


async def _export_links(target: Target) -> int:
    done = 0

    def tell(count: int) -> None:
        nonlocal done
        done += count

    async for _ in target.kurz.exporter.run(TransferFormat.CSV, OWN, {}, tell=tell):
        if done >= EXPORTED:
            break
    return done


async def _export_clicks(target: Target, about: About) -> int:
    """The first of them."""
    lines = 0
    async for part in write_events(target.kurz.stats, about, target.period, StatsFormat.CSV):
        lines += part.count(b"\n")
        if lines > EXPORTED:
            break
    return lines - 1


async def _export_of_link(target: Target) -> None:
    await _export_clicks(target, target.link)


async def _export_of_tag(target: Target) -> int:
    return await _export_clicks(target, target.tag)


async def _export_all(target: Target) -> int:
    return await _export_clicks(target, EVERYTHING)


async def _add_new_account(target: Target) -> None:
    await add_account(target.kurz, NEW_ACCOUNT_ID)


async def _delete_new_account(target: Target) -> None:
    assert await target.kurz.accounts.delete(NEW_ACCOUNT_ID)


async def _forget_new_account(target: Target) -> None:
    await target.kurz.database.write(_forget_deletion, NEW_ACCOUNT_ID)


async def _delete_account(target: Target) -> None:
    assert await target.kurz.accounts.delete(OWNER_ID)


async def _undo_deletion(target: Target) -> None:
    """Its links are as they were: there are too many to end them in the request."""
    await target.kurz.database.write(_forget_deletion, OWNER_ID)
    await add_account(target.kurz, OWNER_ID)


def _forget_deletion(connection: sa.Connection, account_id: int) -> None:
    """Otherwise a job would end its links."""
    ending = sa.delete(ending_accounts).where(ending_accounts.c.account_id == account_id)
    assert connection.execute(ending).rowcount == 1


def _month_folder(kurz: Kurz, run_seconds: float) -> MonthFolder:
    days = DayFolder(
        kurz.database, kurz.settings.daily_breakdown_days, kurz.engine.max_held_seconds
    )
    return MonthFolder(kurz.database, kurz.clock, days, run_seconds=run_seconds)


async def _fold_all(target: Target) -> None:
    await _month_folder(target.kurz, LONG_SECONDS).run()


async def _fold(target: Target) -> None:
    found = await _month_folder(target.kurz, RUN_SECONDS).run()
    assert found == {"months": 0, "folded": 0}


async def _reap(target: Target) -> None:
    async with open_reaper(target.kurz) as reaping:
        context = RunContext(asyncio.Event())
        result = await reaping.reaper.run(context)
    assert (result.outcome, +context.counts) == (RunOutcome.DONE, Counter()), (result, context)


OPERATIONS = (
    Operation("redirect, not in memory", _redirect, Expectation(floor_ms=LOOKUP_MS)),
    Operation("create", _create, MANY),
    Operation("list, first page", _list(OWN, Filter()), PAGE),
    Operation("list, by clicks", _list(OWN, Filter(sort=Sort.CLICKS_DOWN)), PAGE),
    Operation("list, tag + status, by clicks", _tagged, CAPPED),
    Operation("list of 200 tags", _tags, PAGE),
    Operation("search, rare word", _list(OWN, Filter(search=RARE)), PAGE),
    Operation("search, common word", _list(OWN, Filter(search=COMMON)), CAPPED),
    Operation("operator's list", _list(Scope(), ANYBODYS), PAGE),
    Operation(
        "operator's list, expired", _list(Scope(), replace(ANYBODYS, status=Status.EXPIRED)), CAPPED
    ),
    Operation(
        "operator's search, common word", _list(Scope(), replace(ANYBODYS, search=COMMON)), CAPPED
    ),
    Operation(
        "operator's search, rare word", _list(Scope(), replace(ANYBODYS, search=RARE)), CAPPED
    ),
    Operation("statistics of a link, 30 days", _stats, Expectation(50)),
    Operation("export links, for each", _export_links, MANY),
    Operation(f"export {LINK_CLICKS} clicks of a link", _export_of_link, Expectation(100)),
    Operation(EVERYBODYS_CLICKS, _export_all, MANY),
    Operation(
        "export clicks of a tag, for each",
        _export_of_tag,
        Expectation(goal_of=(2, EVERYBODYS_CLICKS), floor_ms=0),
    ),
    Operation(
        "delete an account without links",
        _delete_new_account,
        Expectation(5),
        before=_add_new_account,
        after=_forget_new_account,
    ),
    Operation(
        "delete an account with 90 % of all links",
        _delete_account,
        Expectation(100),
        after=_undo_deletion,
    ),
    Operation("add up months, nothing to do", _fold, Expectation(50), before=_fold_all),
    Operation("reaper, nothing to do", _reap),
)
