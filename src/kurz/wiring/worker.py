"""A worker of `kurz serve`, over the parts that `core` has opened: the read path and the API."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial

import structlog

from kurz import logs
from kurz.api.app import create_application
from kurz.api.http.callers import is_member
from kurz.api.http.cors import Cors
from kurz.api.http.dependencies import Context, Imports, Options, ProcessState, Sessions
from kurz.api.http.downloads import Downloads
from kurz.api.http.idempotency import Receipts
from kurz.api.schemas.system import SystemRead
from kurz.asgi import AsgiApp
from kurz.clicks.live import Live
from kurz.dashboard.app import DashboardApp
from kurz.dashboard.build import NotBuilt, packaged_files
from kurz.dashboard.shell import Facts
from kurz.errors import StoreUnavailable
from kurz.links.ending.reaper_admin import ReaperAdmin
from kurz.links.imports import ImportLimits
from kurz.links.model import ROOT_WORKSPACE_ID, Strategy
from kurz.links.totals import RecentTotals
from kurz.people.devices import Devices
from kurz.people.identity import Identity
from kurz.people.keyring import Keyring
from kurz.people.limits import Limits
from kurz.people.set_up import SetUpState
from kurz.people.tokens import Tokens
from kurz.redirect.answers.report_form import ReportForm
from kurz.redirect.app import RedirectApp
from kurz.redirect.misses import Misses
from kurz.server.accepting import NO_SHORTCUT, Shortcut
from kurz.server.app import App
from kurz.server.capacity import Capacity, connection_cap, file_limit, open_files
from kurz.server.forwarding import Forwarding
from kurz.server.hosts import Hosts
from kurz.server.overload import BoundedWork, WorkKind
from kurz.server.proxies import TrustedProxies
from kurz.server.proxy_note import ProxyNote
from kurz.server.quick_refusals import QuickRefusals
from kurz.server.read_only import NoClicksLeft, ReadOnly
from kurz.settings.model import Settings
from kurz.settings.secret import keep_secret
from kurz.storage.links.quota_usage import SqlUsageStore
from kurz.storage.links.receipts import SqlReceiptStore
from kurz.storage.links.totals import SqlTotalsStore
from kurz.storage.people.held_slots import SqlImportSlots, SqlStreamSlots
from kurz.wiring.checks import open_link_checks
from kurz.wiring.core import Kurz, find_root_workspace_id, open_custom_domains
from kurz.wiring.health import Watch
from kurz.wiring.limits import caps_of, open_limits
from kurz.wiring.read_path import ReadPath, open_read_path
from kurz.wiring.reaper import open_reaper_admin
from kurz.wiring.rescreen import open_lists
from kurz.wiring.worker_numbers import (
    Board,
    WorkerNumbers,
    failing_writes,
    numbers_of,
    numbers_of_connections,
)

log = structlog.get_logger()


@dataclass(frozen=True)
class Serving:
    """What a server needs: the application, what answers without it, how many connections there may
    be, what to do every second, and what to do when it begins to stop."""

    app: App
    shortcut: Shortcut
    capacity: Capacity
    tick: Callable[[], Awaitable[None]]
    on_stop: Callable[[], None]


@asynccontextmanager
async def open_serving(kurz: Kurz, board: Board | None = None) -> AsyncIterator[Serving]:
    """Without a board, its numbers are not shared."""
    settings = kurz.settings
    root_workspace_id = await find_root_workspace_id(settings, kurz.workspaces)
    hosts = _hosts(kurz, root_workspace_id)
    proxies = TrustedProxies(settings.trusted_proxies)
    keyring = Keyring(keep_secret(settings), settings.secret_previous)
    limits = open_limits(kurz, keyring)
    dashboard = _dashboard(kurz)
    own_links = None if dashboard is None else _own_links(settings)
    numbers = WorkerNumbers(board)
    async with (
        open_read_path(kurz, hosts, proxies, Misses(limits), own_links) as path,
        open_lists(kurz) as lists,
    ):
        reaper_admin = open_reaper_admin(kurz)
        watch = Watch(kurz, reaper_admin, numbers.started_at)
        state = _state(kurz, path, numbers, watch)
        context = _context(kurz, keyring, limits, root_workspace_id, state, reaper_admin)
        bounded = BoundedWork(create_application(context), most_in_flight(settings))
        hsts_seconds = _hsts_seconds(settings)
        quick = QuickRefusals(bounded, hosts, hsts_seconds)
        app = App(
            api=_with_cors(settings, _guarded(settings, bounded)),
            redirect=_guarded(settings, _redirect(kurz, path, context)),
            dashboard=dashboard,
            hosts=hosts,
            proxies=proxies,
            freshness=path.heartbeat,
            hsts_seconds=hsts_seconds,
            forwarding=_forwarding(settings),
        )
        path.lane.answer_other = quick.answer
        capacity = _capacity(settings, path)
        numbers.add(
            partial(numbers_of, kurz, path, app),
            partial(numbers_of_connections, capacity),
            lists.counts,
            bounded.counts,
            lambda: {"api_5xx": quick.answers},  # the application did not see them
        )

        async def tick() -> None:
            await path.tick()
            lists.tick()
            logs.tell_repeats()
            capacity.report()
            numbers.count()

        has_lane = settings.fast_lane == "on"
        shortcut = Shortcut(path.lane.answer, path.lane.flush) if has_lane else NO_SHORTCUT
        yield Serving(app, shortcut, capacity, tick, context.live.close)


def _state(kurz: Kurz, path: ReadPath, numbers: WorkerNumbers, watch: Watch) -> ProcessState:
    settings = kurz.settings

    async def check_store() -> None:
        await kurz.database.check()
        if path.parts.resolver.is_feed_stale:
            raise StoreUnavailable("This worker does not receive changes from other processes.")

    async def tell_system() -> SystemRead:
        return await watch.tell(numbers.of_instance())

    return ProcessState(
        check_store,
        partial(failing_writes, kurz, path),
        partial(_ask_redis, kurz),
        numbers.render,
        tell_system,
        ready_needs_writes=settings.ready_needs_writes == "on",
        metrics_token=settings.metrics_token,
        are_metrics_public=settings.metrics == "public",
    )


def _capacity(settings: Settings, path: ReadPath) -> Capacity:
    """From the number of files that can still be opened. Files that are opened later, such as
    connections to the database, come out of the reserve."""
    cap = connection_cap(settings.max_connections, file_limit(), other_files=open_files())
    return Capacity(cap, flush=path.lane.flush)


def _guarded(settings: Settings, app: AsgiApp) -> AsgiApp:
    return ReadOnly(app) if settings.read_only == "on" else app


def _with_cors(settings: Settings, api: AsgiApp) -> AsgiApp:
    return Cors(api, settings.allowed_origins) if settings.allowed_origins else api


def _forwarding(settings: Settings) -> Forwarding | None:
    """Only where visitors come from other machines."""
    if settings.base_url is None or settings.is_local:
        return None
    return Forwarding(ProxyNote(settings.proxy_note_path).write)


def _hsts_seconds(settings: Settings) -> int:
    """0 if any of our addresses may use plain HTTP: browsers must not be kept from it."""
    addresses = [url for url in (settings.base_url, settings.dashboard_url) if url]
    is_safe = addresses and all(url.startswith("https://") for url in addresses)
    return settings.hsts_seconds if is_safe else 0


def most_in_flight(settings: Settings) -> dict[WorkKind, int]:
    return {
        WorkKind.CREATES: settings.creates_in_flight,
        WorkKind.TRANSFERS: settings.transfers_in_flight,
        WorkKind.REQUESTS: settings.requests_in_flight,
    }


def _hosts(kurz: Kurz, root_workspace_id: int | None) -> Hosts:
    settings = kurz.settings
    workspace_id = root_workspace_id or ROOT_WORKSPACE_ID
    return Hosts(settings.base_url, kurz.domains, workspace_id, settings.dashboard_url)


def _redirect(kurz: Kurz, path: ReadPath, context: Context) -> RedirectApp:
    settings = kurz.settings
    return RedirectApp(
        path.parts,
        NoClicksLeft() if settings.read_only == "on" else kurz.store,
        ReportForm(kurz.abuse, kurz.store, context.limits),
        base_url=settings.base_url,
        is_public=settings.access == "public",
        is_member=partial(is_member, identity=context.sessions.identity),
        is_refused=kurz.screen.is_refused,
    )


def _dashboard(kurz: Kurz) -> DashboardApp | None:
    """None if it was not built: links and the API work without it."""
    settings = kurz.settings
    try:
        files = packaged_files()
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
    """Where people find their expired links, to restore them."""
    return f"{settings.dashboard_url or settings.base_url or ''}/app/links?status=EXPIRED"


def _live(kurz: Kurz) -> Live:
    """Without slots where this is the only process that answers, or there is no limit."""
    most, clock = kurz.settings.limit_streams, kurz.clock
    needs_slots = most and kurz.engine.is_shared
    slots = SqlStreamSlots(kurz.database, clock, most) if needs_slots else None
    return Live(kurz.stats.store, clock, max_of_account=most, slots=slots)


def _context(
    kurz: Kurz,
    keyring: Keyring,
    limits: Limits,
    root_workspace_id: int | None,
    state: ProcessState,
    reaper_admin: ReaperAdmin,
) -> Context:
    settings, database, clock = kurz.settings, kurz.database, kurz.clock
    tokens = Tokens(keyring.keys("tokens"), clock)
    return Context(
        services=kurz,
        options=_options(settings, root_workspace_id),
        state=state,
        sessions=Sessions(
            tokens,
            Devices(keyring.keys("devices"), clock),
            Identity(tokens, kurz.account_store, kurz.keys, clock),
        ),
        limits=limits,
        receipts=Receipts(SqlReceiptStore(database), keyring.keys("receipts"), clock, limits),
        imports=Imports(
            ImportLimits(settings.limit_import_rows, settings.limit_import_rows_allowed),
            SqlImportSlots(database, clock),
        ),
        downloads=Downloads(settings.limit_downloads),
        live=_live(kurz),
        link_checks=open_link_checks(kurz),
        totals=RecentTotals(SqlTotalsStore(database, clock)),
        reaper_admin=reaper_admin,
        custom_domains=open_custom_domains(kurz),
        usage=SqlUsageStore(database),
    )


def _options(settings: Settings, root_workspace_id: int | None) -> Options:
    return Options(
        base_url=settings.base_url,
        dashboard_url=settings.dashboard_url,
        is_private=settings.access == "private",
        has_public_stats=settings.access == "public" and settings.public_stats == "on",
        links_per_month=settings.links_per_month,
        caps=caps_of(settings),
        root_strategy=Strategy(settings.code_strategy),
        redirect_status=settings.redirect_status,
        root_workspace_id=root_workspace_id,
    )


async def _ask_redis(kurz: Kurz) -> bool | None:
    redis = kurz.shared.redis
    return None if redis is None else await redis.answers()
