"""What a process of `kurz serve` is made of, over the parts that `bootstrap` has opened: the read
path, the API, and what runs in the background."""

import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial

from kurz import __version__, metrics
from kurz.api.app import create_api
from kurz.api.callers import is_member
from kurz.api.dependencies import Context
from kurz.api.idempotency import Receipts
from kurz.bootstrap import Kurz
from kurz.errors import SettingRefused, StoreUnavailable
from kurz.links.model import ROOT_WORKSPACE_ID, Strategy
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
from kurz.reading import ReadPath, open_read_path
from kurz.redirect.app import RedirectApp
from kurz.redirect.misses import Misses
from kurz.secret import keep_secret
from kurz.server.app import App
from kurz.server.connection import Connection
from kurz.server.hosts import Hosts
from kurz.server.proxies import TrustedProxies
from kurz.server.scoreboard import Scoreboard
from kurz.storage.domains import SqlDomainStore
from kurz.storage.indexer import SearchIndexer
from kurz.storage.receipts import SqlReceiptStore
from kurz.storage.totals import SqlTotalsStore
from kurz.storage.trimmer import ChangeTrimmer

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
    limits = _limits(kurz)
    async with open_read_path(kurz, hosts, proxies, Misses(limits)) as path:

        def count() -> None:
            row.write(_numbers(kurz, path, app))

        def tell_metrics() -> bytes:
            count()
            rows = [numbers for _, numbers in board.scoreboard.each()]
            return metrics.render(rows, __version__, int(time.time()))

        async def tick() -> None:
            await path.tick()
            count()

        async def check_store() -> None:
            await kurz.database.check()
            if path.resolver.is_deaf:
                raise StoreUnavailable("Changes by others are not heard of at the moment.")

        context = _context(kurz, limits, root_workspace_id, check_store, tell_metrics)
        app = App(
            api=create_api(context),
            redirect=RedirectApp(
                path.resolver,
                path.slugs,
                kurz.store,
                path.clicks,
                path.misses,
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


def _numbers(kurz: Kurz, path: ReadPath, app: App) -> dict[str, int]:
    """What this worker has counted."""
    tally, journal, hot = path.tally, path.journal, path.resolver.hot
    now = time.time()
    return {
        metrics.ALIVE_AT: int(now),
        metrics.HEARD_AT: int(now - (time.monotonic() - kurz.shared.feed.heard_at)),
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
        **_numbers_of_stores(kurz, path),
    }


def _numbers_of_stores(kurz: Kurz, path: ReadPath) -> dict[str, int]:
    shared = kurz.shared
    counts = Counter(kurz.database.counts())
    counts.update(path.store.counts())
    return {
        **counts,
        **shared.cache.counts(),
        **({} if kurz.replicas is None else kurz.replicas.counts()),
        "feed_wake_ups": shared.feed.wake_ups,
        "feed_lost_connections": shared.feed.lost_connections,
        "feed_deaf": int(path.resolver.is_deaf),
    }


@asynccontextmanager
async def open_jobs(kurz: Kurz) -> AsyncIterator[None]:
    """What goes on in the background, in one process of an installation's machine: the change log
    is kept short, and on SQLite the text of links is indexed behind their writes."""
    jobs: list[SearchIndexer | ChangeTrimmer] = [ChangeTrimmer(kurz.database, kurz.clock)]
    if kurz.settings.is_embedded:
        jobs.append(SearchIndexer(kurz.database))
    for job in jobs:
        job.start()
    try:
        yield
    finally:
        for job in jobs:
            await job.stop()


def _context(
    kurz: Kurz,
    limits: Limits,
    root_workspace_id: int | None,
    check_store: Callable[[], Awaitable[None]],
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
        check_store=check_store,
        ask_redis=partial(_ask_redis, kurz),
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


async def _ask_redis(kurz: Kurz) -> bool | None:
    redis = kurz.shared.redis
    return None if redis is None else await redis.answers()


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


def _limits(kurz: Kurz) -> Limits:
    """In Redis, if there is one. Else several workers, and on PostgreSQL perhaps several instances,
    share the limits of sign-ins and creates in the database; others are not worth a write. Else in
    memory."""
    settings = kurz.settings
    if settings.rate_limits == "off":
        return NullLimits()
    local, redis = MemoryLimits(), kurz.shared.redis
    if redis is not None:
        from kurz.cache.limits import RedisLimits

        return Limits(FallbackLimits(RedisLimits(redis), local, processes=settings.workers))
    if settings.workers > 1 or not settings.is_embedded:
        from kurz.storage.limits import SqlLimits

        shared_store = SqlLimits(kurz.database, kurz.clock)
        shared = FallbackLimits(
            shared_store,
            local,
            patience_seconds=DATABASE_PATIENCE_SECONDS,
            processes=settings.workers,
        )
        return Limits(ChosenLimits(shared, local, WORTH_A_WRITE))
    return Limits(local)
