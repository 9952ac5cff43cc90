"""What a process of `kurz serve` is made of, over the parts that `bootstrap` has opened: the read
path, the API, and what runs in the background."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial

from kurz import __version__, metrics
from kurz.api.app import create_api
from kurz.api.callers import is_member
from kurz.api.dependencies import Context
from kurz.api.idempotency import Receipts
from kurz.bootstrap import Kurz
from kurz.clicks.journal import Journal
from kurz.clicks.visitors import Visitors
from kurz.errors import SettingRefused
from kurz.links.model import ROOT_WORKSPACE_ID, Change, Strategy
from kurz.links.totals import RecentTotals
from kurz.outbound.dns import DnsTxtLookup
from kurz.people.custom_domains import CustomDomains
from kurz.people.identity import Identity
from kurz.people.keyring import Keyring
from kurz.people.limits import (
    WORTH_A_WRITE,
    ChosenLimits,
    FallbackLimits,
    Limits,
    MemoryLimits,
    NullLimits,
)
from kurz.people.tokens import Tokens
from kurz.redirect.app import RedirectApp
from kurz.redirect.clicks import ClickWriter
from kurz.redirect.hot import HotSet
from kurz.redirect.lane import Lane
from kurz.redirect.misses import Misses
from kurz.redirect.resolve import Resolver
from kurz.redirect.slugs import Slugs
from kurz.redirect.tally import Tally
from kurz.secret import keep_secret
from kurz.server.app import App
from kurz.server.connection import Connection
from kurz.server.hosts import Hosts
from kurz.server.proxies import TrustedProxies
from kurz.server.scoreboard import Scoreboard
from kurz.storage.domains import SqlDomainStore
from kurz.storage.indexer import SearchIndexer
from kurz.storage.receipts import SqlReceiptStore
from kurz.storage.routes import SqliteRouteStore, SqlRouteStore
from kurz.storage.salts import SqlSaltStore
from kurz.storage.sqlite import SqliteDatabase
from kurz.storage.totals import SqlTotalsStore

DATABASE_PATIENCE_SECONDS = 0.5  # for a limit that is kept in the database


@dataclass(frozen=True)
class Serving:
    """What a server needs: the application, what makes its connections, and what to do every
    second."""

    app: App
    connect: Callable[..., Connection]
    tick: Callable[[], Awaitable[None]]


@dataclass(frozen=True)
class Board:
    """The numbers of all workers, and this worker's row among them."""

    scoreboard: Scoreboard
    slot: int


@asynccontextmanager
async def open_app(kurz: Kurz) -> AsyncIterator[App]:
    """The application over these parts, with what only a server needs."""
    async with open_serving(kurz) as serving:
        yield serving.app


@asynccontextmanager
async def open_serving(kurz: Kurz, board: Board | None = None) -> AsyncIterator[Serving]:
    """Without a board, its numbers are nobody else's."""
    settings = kurz.settings
    root_workspace_id = await _root_workspace_id(kurz)
    hosts = Hosts(settings.base_url, kurz.domains, root_workspace_id or ROOT_WORKSPACE_ID)
    proxies = TrustedProxies(settings.trusted_proxies)
    board = board or Board(Scoreboard(metrics.NAMES, 1), 0)
    row = board.scoreboard.row(board.slot, metrics.OF_THE_MOMENT)
    async with _limits(kurz) as limits, _read_path(kurz, hosts, proxies) as path:

        def count() -> None:
            row.write(_numbers(kurz, path, app))

        def tell_metrics() -> bytes:
            count()
            rows = [numbers for _, numbers in board.scoreboard.each()]
            return metrics.render(rows, __version__, int(time.time()))

        async def tick() -> None:
            await path.tick()
            count()

        context = _context(kurz, limits, root_workspace_id, tell_metrics)
        app = App(
            api=create_api(context),
            redirect=RedirectApp(
                path.resolver,
                path.slugs,
                kurz.store,
                path.clicks,
                Misses(limits),
                kurz.clock,
                path.tally,
                base_url=settings.base_url,
                is_public=settings.access == "public",
                is_member=partial(is_member, identity=context.identity),
            ),
            hosts=hosts,
            proxies=proxies,
        )
        shortcut = path.lane.answer if settings.fast_lane == "on" else None
        yield Serving(app, partial(Connection, shortcut=shortcut), tick)


def _numbers(kurz: Kurz, path: "_ReadPath", app: App) -> dict[str, int]:
    """What this worker has counted."""
    tally, journal, hot = path.tally, path.journal, path.resolver.hot
    now = time.time()
    return {
        metrics.ALIVE_AT: int(now),
        metrics.HEARD_AT: int(now - (time.monotonic() - kurz.feed.heard_at)),
        **{f"outcome_{outcome}": number for outcome, number in tally.outcomes.items()},
        "outcome_limited": tally.limited,
        "outcome_unavailable": tally.unavailable,
        **{f"api_{digit}xx": app.api_statuses[digit] for digit in (2, 3, 4, 5)},
        **metrics.latency_counts(tally.latencies),
        "latency_ns": tally.latency_ns,
        "lane_answers": tally.lane_answers,
        "look_ups": path.resolver.look_ups,
        "journal_records": journal.records,
        "journal_bytes": journal.bytes,
        "journal_dropped": journal.dropped,
        "journal_sync_errors": journal.sync_errors,
        "hot_links": len(hot.entries),
        "hot_bytes": hot.size,
        "connections": Connection.open_number,
    }


@dataclass(frozen=True)
class _ReadPath:
    resolver: Resolver
    slugs: Slugs
    clicks: ClickWriter
    journal: Journal
    tally: Tally
    lane: Lane
    tick: Callable[[], Awaitable[None]]


@asynccontextmanager
async def _read_path(kurz: Kurz, hosts: Hosts, proxies: TrustedProxies) -> AsyncIterator[_ReadPath]:
    settings, clock = kurz.settings, kurz.clock
    hot = HotSet(settings.hot_links, settings.hot_megabytes * 1024 * 1024)
    database = kurz.database
    store = SqlRouteStore(database)
    if isinstance(database, SqliteDatabase):
        store = SqliteRouteStore(database)
    resolver, slugs = Resolver(hot, store, clock), Slugs(kurz.workspaces)
    journal, visitors = Journal(settings.journal_dir), Visitors(SqlSaltStore(kurz.database))
    clicks = ClickWriter(journal, visitors, clock)
    tally = Tally()
    lane = Lane(resolver, hosts, slugs, clicks, visitors, journal, proxies, clock, tally)

    def hear(changes: Sequence[Change]) -> None:
        resolver.forget(changes)
        if any(change.link_id == 0 for change in changes):
            hosts.forget()
            slugs.forget()
            lane.forget_heads()

    refreshing: asyncio.Task[None] | None = None

    async def tick() -> None:
        nonlocal refreshing
        lane.renew(settings.keep_alive_seconds)
        if refreshing is None or refreshing.done():  # an outage must not hold the rest up
            refreshing = asyncio.create_task(visitors.refresh(clock.now()))

    kurz.feed.subscribe(hear)
    try:
        await kurz.feed.start()
        await visitors.refresh(clock.now())
        await tick()
        journal.start()
        yield _ReadPath(resolver, slugs, clicks, journal, tally, lane, tick)
    finally:
        kurz.feed.unsubscribe(hear)
        if refreshing is not None:
            await refreshing
        journal.close()
        store.close()


@asynccontextmanager
async def open_jobs(kurz: Kurz) -> AsyncIterator[None]:
    """What goes on in the background, in one process of an installation's machine: on SQLite the
    text of links is indexed behind their writes."""
    if not kurz.settings.is_embedded:
        yield
        return

    indexer = SearchIndexer(kurz.database)
    indexer.start()
    try:
        yield
    finally:
        await indexer.stop()


def _context(
    kurz: Kurz,
    limits: Limits,
    root_workspace_id: int | None,
    tell_metrics: Callable[[], bytes],
) -> Context:

    settings, database, clock = kurz.settings, kurz.database, kurz.clock
    keyring = Keyring(keep_secret(settings))
    tokens = Tokens(keyring.key("tokens"), clock)
    return Context(
        links=kurz.links,
        tagging=kurz.tagging,
        totals=RecentTotals(SqlTotalsStore(database, clock)),
        exporter=kurz.exporter,
        importer=kurz.importer,
        accounts=kurz.accounts,
        tokens=tokens,
        identity=Identity(tokens, kurz.account_store, kurz.keys, clock),
        keys=kurz.keys,
        passes=kurz.passes,
        teams=kurz.teams,
        workspaces=kurz.workspaces,
        custom_domains=CustomDomains(
            SqlDomainStore(database),
            DnsTxtLookup(settings.dns_servers),
            kurz.domains,
            clock,
            key=kurz.domain_key,
            base_url=settings.base_url,
        ),
        domains=kurz.domains,
        limits=limits,
        receipts=Receipts(SqlReceiptStore(database), keyring.key("receipts"), clock),
        clock=clock,
        check_store=database.check,
        metrics=tell_metrics,
        metrics_token=settings.metrics_token,
        are_metrics_public=settings.metrics == "public",
        base_url=settings.base_url,
        is_private=settings.access == "private",
        links_per_month=settings.links_per_month,
        root_strategy=Strategy(settings.code_strategy),
        redirect_status=settings.redirect_status,
        root_workspace_id=root_workspace_id,
    )


async def _root_workspace_id(kurz: Kurz) -> int | None:
    slug = kurz.settings.root_workspace
    if slug is None:
        return None
    workspace = await kurz.workspaces.find_by_slug(slug)
    if workspace is None:
        raise SettingRefused(
            f"KURZ_ROOT_WORKSPACE names no workspace: {slug}. Make it first:"
            f" kurz admin workspace create {slug} --owner …"
        )
    return workspace.id


@asynccontextmanager
async def _limits(kurz: Kurz) -> AsyncIterator[Limits]:
    """In Redis, if there is one. Else several workers, and on PostgreSQL perhaps several instances,
    share the limits of sign-ins and creates in the database; others are not worth a write. Else in
    memory."""
    settings = kurz.settings
    if settings.rate_limits == "off":
        yield NullLimits()
        return
    local = MemoryLimits()
    if settings.redis_url is not None:
        from kurz.cache.limits import RedisLimits

        redis = RedisLimits(settings.redis_url)
        try:
            yield Limits(FallbackLimits(redis, local, processes=settings.workers))
        finally:
            await redis.close()
        return
    if settings.workers > 1 or not settings.is_embedded:
        from kurz.storage.limits import SqlLimits

        shared_store = SqlLimits(kurz.database, kurz.clock)
        shared = FallbackLimits(
            shared_store,
            local,
            patience_seconds=DATABASE_PATIENCE_SECONDS,
            processes=settings.workers,
        )
        yield Limits(ChosenLimits(shared, local, WORTH_A_WRITE))
        return
    yield Limits(local)
