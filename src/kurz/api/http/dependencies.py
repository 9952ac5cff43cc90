"""What routes need: the services, and what a request says about its host."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from fastapi import Request

from kurz import asgi
from kurz.api.http.downloads import Downloads
from kurz.api.schemas.system import SystemRead
from kurz.clicks.live import Live
from kurz.clicks.stats import Stats
from kurz.clock import Clock
from kurz.errors import SignInRequired
from kurz.links.availability import Availability
from kurz.links.ending.reaper_admin import ReaperAdmin
from kurz.links.ending.trash import Trash
from kurz.links.imports import ImportLimits, ImportSlots
from kurz.links.model import Strategy
from kurz.links.ports import Screen
from kurz.links.service import LinkService
from kurz.links.tagging import Tagging
from kurz.links.totals import RecentTotals
from kurz.links.transfers import LinkExporter, LinkImporter
from kurz.people.accounts import AccountService
from kurz.people.caps import Caps
from kurz.people.custom_domains import CustomDomains
from kurz.people.devices import Devices
from kurz.people.domains import Domains
from kurz.people.identity import Identity
from kurz.people.keys import KeyService
from kurz.people.limits import LimitClass, Limits, LimitVerdict, subject_of_address
from kurz.people.one_time_tokens import OneTimeTokens
from kurz.people.quotas import UsageStore
from kurz.people.teams import Teams
from kurz.people.tokens import Tokens
from kurz.people.workspaces import Workspace, WorkspaceStore
from kurz.safety.abuse_reporting import AbuseReports
from kurz.safety.audit import AuditStore
from kurz.safety.banning import Bans
from kurz.safety.link_checks import LinkChecks

if TYPE_CHECKING:
    from kurz.api.http.idempotency import Receipts


@dataclass(frozen=True)
class ProcessState:
    """The state of a process. `check_store` raises `StoreUnavailable` while the store does not
    answer or the feed is stale; `failing_writes` says what cannot be written, and why; `ask_redis`
    says whether Redis answers, None if there is none."""

    check_store: Callable[[], Awaitable[None]]
    failing_writes: Callable[[], list[tuple[Literal["clicks", "database"], str]]]
    ask_redis: Callable[[], Awaitable[bool | None]]
    metrics: Callable[[], bytes]
    system: Callable[[], Awaitable[SystemRead]]


@dataclass(frozen=True, kw_only=True)
class Context:
    """What the API is built from. `base_url` None: short URLs use the request's host;
    `dashboard_url` None: the pages are where the short URLs are.
    `root_workspace_id`: whose links are at the root, instead of anonymous and personal ones."""

    links: LinkService
    screen: Screen
    availability: Availability
    trash: Trash
    tagging: Tagging
    link_checks: LinkChecks
    totals: RecentTotals
    reaper_admin: ReaperAdmin
    stats: Stats
    live: Live
    exporter: LinkExporter
    downloads: Downloads
    importer: LinkImporter
    import_limits: ImportLimits
    import_slots: ImportSlots
    accounts: AccountService
    tokens: Tokens
    devices: Devices
    identity: Identity
    keys: KeyService
    one_time_tokens: OneTimeTokens
    teams: Teams
    workspaces: WorkspaceStore
    custom_domains: CustomDomains
    domains: Domains
    limits: Limits
    receipts: "Receipts"
    clock: Clock
    state: ProcessState
    ready_needs_writes: bool
    metrics_token: str | None
    are_metrics_public: bool
    base_url: str | None
    dashboard_url: str | None
    is_private: bool
    has_public_stats: bool
    links_per_month: int
    caps: Caps
    usage: UsageStore
    root_strategy: Strategy
    redirect_status: int
    root_workspace_id: int | None
    audit: AuditStore
    bans: Bans
    abuse: AbuseReports

    def refuse_strangers(self) -> None:
        if self.is_private or self.root_workspace_id is not None:
            raise SignInRequired(
                "Creating links requires an account on this server. Sign in first."
            )

    async def limit_by_address(self, request: Request, class_: LimitClass) -> LimitVerdict:
        return await self.limits.check(class_, client_of(request))

    def origin(self, request: Request) -> str:
        """What short URLs of this installation start with."""
        return self.base_url or asgi.origin_of(request.scope)

    def page_origin(self, request: Request) -> str:
        """What addresses of its pages start with."""
        return self.dashboard_url or self.origin(request)

    async def prefix(self, request: Request, workspace: Workspace | None) -> str:
        """The part of a short URL before the code."""
        origin = self.origin(request)
        return await self.domains.prefix(origin, workspace, self.root_workspace_id)

    def own_hosts_of(self, request: Request) -> tuple[str, ...]:
        """The host of this request, if there is no base URL: a link to it would be a loop."""
        if self.base_url is not None:
            return ()
        host = asgi.host_of(request.scope)
        name, colon, port = host.rpartition(":")
        if not colon or port.endswith("]"):
            name, port = host, "443" if request.scope["scheme"] == "https" else "80"
        return (f"{name.removesuffix('.')}:{port}",)


def context(request: Request) -> Context:
    found: Context = request.scope["app"].state.context
    return found


def client_of(request: Request) -> str:
    """Who is charged without an account: an address, or the network of an IPv6 address."""
    return subject_of_address(asgi.client_of(request.scope))
