"""What a process of `kurz serve` is made of, over the parts that `bootstrap` has opened: the read
path and the API."""

import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial

import structlog

from kurz import __version__, logs, metrics
from kurz.api.app import create_api
from kurz.api.callers import is_member
from kurz.api.cors import Cors
from kurz.api.dependencies import Context
from kurz.api.downloads import Downloads
from kurz.api.idempotency import Receipts
from kurz.api.schemas.system import SystemRead
from kurz.bootstrap import Kurz, open_custom_domains
from kurz.checking import open_link_checks
from kurz.clicks.live import Live
from kurz.dashboard.app import DashboardApp
from kurz.dashboard.build import Files, NotBuilt
from kurz.dashboard.shell import Facts
from kurz.errors import SettingRefused, StoreUnavailable
from kurz.limiting import caps_of, open_limits
from kurz.links.imports import ImportLimits
from kurz.links.model import ROOT_WORKSPACE_ID, Strategy
from kurz.links.totals import RecentTotals
from kurz.people.devices import Devices
from kurz.people.identity import Identity
from kurz.people.keyring import Keyring
from kurz.people.limits import Limits
from kurz.people.set_up import SetUpState
from kurz.people.tokens import Tokens
from kurz.reading import ReadPath, open_read_path
from kurz.reaping import open_upkeep
from kurz.redirect.app import RedirectApp
from kurz.redirect.misses import Misses
from kurz.redirect.reporting import ReportForm
from kurz.screening import open_lists
from kurz.secret import keep_secret
from kurz.server.app import App, AsgiApp
from kurz.server.capacity import Capacity, connection_cap, file_limit, open_files
from kurz.server.connection import Connection
from kurz.server.hosts import Hosts
from kurz.server.overload import BoundedWork, Work
from kurz.server.proxies import TrustedProxies
from kurz.server.quick_refusals import QuickRefusals
from kurz.server.scoreboard import Scoreboard
from kurz.server.turns import Turns
from kurz.server.usage import usage_of
from kurz.settings import Settings
from kurz.storage.held_slots import SqlImportSlots, SqlStreamSlots
from kurz.storage.receipts import SqlReceiptStore
from kurz.storage.totals import SqlTotalsStore
from kurz.storage.usage import SqlUsageStore
from kurz.watching import Watch
from kurz.worker_numbers import FailingWrite, failing_writes, numbers_of

log = structlog.get_logger()


@dataclass(frozen=True)
class Serving:
    """What a server needs: the application, what makes its connections and how many there may be,
    what to do every second, and when it begins to stop."""

    app: App
    connect: Callable[..., Connection]
    capacity: Capacity
    tick: Callable[[], Awaitable[None]]
    on_stop: Callable[[], None]


@dataclass(frozen=True)
class Board:
    """The numbers of all processes, and this one's row among them."""

    scoreboard: Scoreboard
    slot: int


@dataclass(frozen=True)
class _Told:
    """What a worker tells of itself, as `Context` has it."""

    check_store: Callable[[], Awaitable[None]]
    failing_writes: Callable[[], list[FailingWrite]]
    metrics: Callable[[], bytes]
    system: Callable[[], Awaitable[SystemRead]]


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
    hosts = _hosts(kurz, root_workspace_id)
    proxies = TrustedProxies(settings.trusted_proxies)
    is_supervised = board is not None
    board = board or Board(Scoreboard(metrics.NAMES, 1), 0)
    row = board.scoreboard.row(board.slot, metrics.OF_THE_MOMENT)
    keyring = Keyring(keep_secret(settings))
    limits = open_limits(kurz, keyring)
    dashboard = _dashboard(kurz)
    own_links = None if dashboard is None else _own_links(settings)
    async with (
        open_read_path(kurz, hosts, proxies, Misses(limits), own_links) as path,
        open_lists(kurz) as lists,
    ):
        capacity = _capacity(settings, path)

        def count() -> None:
            numbers = {**numbers_of(kurz, path, app), **_numbers_of(capacity), **lists.counts()}
            refused = quick.answers  # the application did not see them
            row.write({**numbers, **bounded.counts(), "api_5xx": numbers["api_5xx"] + refused})

        def rows() -> list[Mapping[str, int]]:
            count()
            return [numbers for _, numbers in board.scoreboard.each()]

        def supervisor() -> Mapping[str, int] | None:
            return usage_of(os.getppid()) if is_supervised else None

        def tell_metrics() -> bytes:
            return metrics.render(rows(), __version__, int(time.time()), supervisor())

        async def tell_system() -> SystemRead:
            return await watch.tell(metrics.Numbers(rows(), int(time.time())))

        async def tick() -> None:
            await path.tick()
            lists.tick()
            logs.tell_repeats()
            capacity.report()
            count()

        async def check_store() -> None:
            await kurz.database.check()
            if path.resolver.is_feed_stale:
                raise StoreUnavailable("Changes by other processes do not arrive at the moment.")

        told = _Told(check_store, partial(failing_writes, kurz, path), tell_metrics, tell_system)
        context = _context(kurz, keyring, limits, root_workspace_id, told)
        watch = Watch(kurz, context.upkeep, board.scoreboard.made_at)
        bounded = BoundedWork(create_api(context), most_in_flight(settings))
        hsts_seconds = _hsts_seconds(settings)
        quick = QuickRefusals(bounded, hosts, hsts_seconds)
        app = App(
            api=_with_cors(settings, bounded),
            redirect=_redirect(kurz, path, context, own_links),
            dashboard=dashboard,
            hosts=hosts,
            proxies=proxies,
            freshness=path.heartbeat,
            hsts_seconds=hsts_seconds,
        )
        path.lane.answer_other = quick.answer
        shortcut = path.lane.answer if settings.fast_lane == "on" else None
        connect = partial(Connection, shortcut=shortcut, capacity=capacity, turns=Turns())
        yield Serving(app, connect, capacity, tick, context.live.close)


def _capacity(settings: Settings, path: ReadPath) -> Capacity:
    """For the files that are left beside those open now. What opens more of them later, such as
    connections to the database, comes out of the reserve."""
    cap = connection_cap(settings.max_connections, file_limit(), other_files=open_files())
    return Capacity(cap, settle=path.lane.flush)


def _numbers_of(capacity: Capacity) -> dict[str, int]:
    return {
        "connections": capacity.open,
        "connections_cap": capacity.most,
        "connections_closed_early": capacity.closed_early,
        "connections_refused": capacity.refused,
    }


def _with_cors(settings: Settings, api: AsgiApp) -> AsgiApp:
    return Cors(api, settings.allowed_origins) if settings.allowed_origins else api


def _hsts_seconds(settings: Settings) -> int:
    """0: where any address of ours may be plain HTTP, browsers are not kept from it."""
    addresses = [url for url in (settings.base_url, settings.dashboard_url) if url]
    is_safe = addresses and all(url.startswith("https://") for url in addresses)
    return settings.hsts_seconds if is_safe else 0


def most_in_flight(settings: Settings) -> dict[Work, int]:
    return {
        Work.CREATES: settings.creates_in_flight,
        Work.TRANSFERS: settings.transfers_in_flight,
        Work.REQUESTS: settings.requests_in_flight,
    }


def _hosts(kurz: Kurz, root_workspace_id: int | None) -> Hosts:
    settings = kurz.settings
    workspace_id = root_workspace_id or ROOT_WORKSPACE_ID
    return Hosts(settings.base_url, kurz.domains, workspace_id, settings.dashboard_url)


def _redirect(kurz: Kurz, path: ReadPath, context: Context, own_links: str | None) -> RedirectApp:
    settings = kurz.settings
    return RedirectApp(
        path.resolver,
        path.slugs,
        kurz.store,
        path.clicks,
        path.misses,
        kurz.clock,
        path.tally,
        ReportForm(kurz.abuse, kurz.store, context.limits),
        base_url=settings.base_url,
        contact=settings.abuse_contact,
        dashboard=own_links,
        is_public=settings.access == "public",
        is_member=partial(is_member, identity=context.identity),
        is_refused=kurz.screen.is_refused,
    )


def _dashboard(kurz: Kurz) -> DashboardApp | None:
    """None where nobody has built it: links and the API work without."""
    settings = kurz.settings
    try:
        files = Files()
    except NotBuilt:
        log.warning("dashboard not built; run `make web`")
        return None
    is_public = settings.access == "public"
    facts = Facts(
        allows_anonymous=is_public and settings.root_workspace is None,
        allows_sign_up=is_public,
        temporary_hours=settings.temporary_link_hours,
    )
    return DashboardApp(
        files,
        facts,
        SetUpState(kurz.account_store).is_needed,
        base_url=settings.base_url,
        dashboard_url=settings.dashboard_url,
    )


def _own_links(settings: Settings) -> str:
    """Where people find their expired links, to bring them back."""
    return f"{settings.dashboard_url or settings.base_url or ''}/app/links?status=EXPIRED"


def _stream_slots(kurz: Kurz) -> SqlStreamSlots | None:
    """None: this is the only process that answers, or there is no limit."""
    settings = kurz.settings
    if not settings.limit_streams or (settings.workers == 1 and settings.is_embedded):
        return None
    return SqlStreamSlots(kurz.database, kurz.clock, settings.limit_streams)


def _context(
    kurz: Kurz,
    keyring: Keyring,
    limits: Limits,
    root_workspace_id: int | None,
    told: _Told,
) -> Context:
    settings, database, clock = kurz.settings, kurz.database, kurz.clock
    tokens = Tokens(keyring.key("tokens"), clock)
    return Context(
        links=kurz.links,
        screen=kurz.screen,
        availability=kurz.availability,
        trash=kurz.trash,
        tagging=kurz.tagging,
        link_checks=open_link_checks(kurz),
        reports=kurz.reports,
        live=Live(
            kurz.reports.store,
            clock,
            max_of_account=settings.limit_streams,
            slots=_stream_slots(kurz),
        ),
        totals=RecentTotals(SqlTotalsStore(database, clock)),
        upkeep=open_upkeep(kurz),
        exporter=kurz.exporter,
        downloads=Downloads(settings.limit_downloads),
        importer=kurz.importer,
        import_limits=ImportLimits(settings.limit_import_rows, settings.limit_import_rows_allowed),
        import_slots=SqlImportSlots(kurz.database, kurz.clock),
        accounts=kurz.accounts,
        tokens=tokens,
        devices=Devices(keyring.key("devices"), clock),
        identity=Identity(tokens, kurz.account_store, kurz.keys, clock),
        keys=kurz.keys,
        passes=kurz.passes,
        teams=kurz.teams,
        workspaces=kurz.workspaces,
        custom_domains=open_custom_domains(kurz),
        domains=kurz.domains,
        limits=limits,
        receipts=Receipts(SqlReceiptStore(database), keyring.key("receipts"), clock, limits),
        clock=clock,
        check_store=told.check_store,
        failing_writes=told.failing_writes,
        ready_needs_writes=settings.ready_needs_writes == "on",
        ask_redis=partial(_ask_redis, kurz),
        metrics=told.metrics,
        system=told.system,
        metrics_token=settings.metrics_token,
        are_metrics_public=settings.metrics == "public",
        base_url=settings.base_url,
        dashboard_url=settings.dashboard_url,
        is_private=settings.access == "private",
        has_public_stats=settings.access == "public" and settings.public_stats == "on",
        links_per_month=settings.links_per_month,
        caps=caps_of(settings),
        usage=SqlUsageStore(kurz.database),
        root_strategy=Strategy(settings.code_strategy),
        redirect_status=settings.redirect_status,
        audit=kurz.audit,
        bans=kurz.bans,
        abuse=kurz.abuse,
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
            f"KURZ_ROOT_WORKSPACE: there is no workspace “{slug}”. Create it first: kurz admin"
            f" workspace create {slug} --owner …"
        )
    return workspace.id
