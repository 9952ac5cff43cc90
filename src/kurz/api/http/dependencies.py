"""What routes need: the services, and what a request says about its host."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from fastapi import Request

from kurz import asgi
from kurz.api.http.downloads import Downloads
from kurz.api.schemas.system import SystemRead
from kurz.clicks.live import Live
from kurz.errors import SignInRequired
from kurz.links.ending.reaper_admin import ReaperAdmin
from kurz.links.imports import ImportLimits, ImportSlots
from kurz.links.model import Strategy
from kurz.links.totals import RecentTotals
from kurz.people.caps import Caps
from kurz.people.custom_domains import CustomDomains
from kurz.people.devices import Devices
from kurz.people.identity import Identity
from kurz.people.limits import LimitClass, Limits, LimitVerdict, subject_of_address
from kurz.people.quotas import UsageStore
from kurz.people.tokens import Tokens
from kurz.people.workspaces import Workspace
from kurz.safety.link_checks import LinkChecks
from kurz.services import Services

if TYPE_CHECKING:
    from kurz.api.http.idempotency import Receipts


@dataclass(frozen=True)
class ProcessState:
    """The state of a process, and who may see it. `check_store` raises `StoreUnavailable` while the
    store does not answer or the feed is stale; `failing_writes` says what cannot be written, and
    why; `ask_redis` says whether Redis answers, None if there is none."""

    check_store: Callable[[], Awaitable[None]]
    failing_writes: Callable[[], list[tuple[Literal["clicks", "database"], str]]]
    ask_redis: Callable[[], Awaitable[bool | None]]
    metrics: Callable[[], bytes]
    system: Callable[[], Awaitable[SystemRead]]
    ready_needs_writes: bool
    metrics_token: str | None
    are_metrics_public: bool


@dataclass(frozen=True)
class Sessions:
    """Who a caller is: by token, by a browser that is known, by key."""

    tokens: Tokens
    devices: Devices
    identity: Identity


@dataclass(frozen=True)
class Imports:
    limits: ImportLimits
    slots: ImportSlots


@dataclass(frozen=True, kw_only=True)
class Options:
    """What the operator has chosen. `base_url` None: short URLs use the request's host;
    `dashboard_url` None: the pages are where the short URLs are.
    `root_workspace_id`: whose links are at the root, instead of anonymous and personal ones."""

    base_url: str | None
    dashboard_url: str | None
    is_private: bool
    has_public_stats: bool
    links_per_month: int
    caps: Caps
    root_strategy: Strategy
    redirect_status: int
    root_workspace_id: int | None


@dataclass(frozen=True, kw_only=True)
class Context:
    """What the API is built from: the services, and what only the API has."""

    services: Services
    options: Options
    state: ProcessState
    sessions: Sessions
    limits: Limits
    receipts: "Receipts"
    imports: Imports
    downloads: Downloads
    live: Live
    link_checks: LinkChecks
    totals: RecentTotals
    reaper_admin: ReaperAdmin
    custom_domains: CustomDomains
    usage: UsageStore

    def refuse_strangers(self) -> None:
        if self.options.is_private or self.options.root_workspace_id is not None:
            raise SignInRequired(
                "Creating links requires an account on this server. Sign in first."
            )

    async def limit_by_address(self, request: Request, class_: LimitClass) -> LimitVerdict:
        return await self.limits.check(class_, client_of(request))

    def origin(self, request: Request) -> str:
        """What short URLs of this installation start with."""
        return self.options.base_url or asgi.origin_of(request.scope)

    def page_origin(self, request: Request) -> str:
        """What addresses of its pages start with."""
        return self.options.dashboard_url or self.origin(request)

    async def prefix(self, request: Request, workspace: Workspace | None) -> str:
        """The part of a short URL before the code."""
        root_workspace_id = self.options.root_workspace_id
        return await self.services.domains.prefix(
            self.origin(request), workspace, root_workspace_id
        )

    def own_hosts_of(self, request: Request) -> tuple[str, ...]:
        """The host of this request, if there is no base URL: a link to it would be a loop."""
        if self.options.base_url is not None:
            return ()
        host = asgi.host_of(request.scope)
        name, colon, port = host.rpartition(":")
        if not colon or port.endswith("]"):
            name, port = host, "443" if request.scope["scheme"] == "https" else "80"
        return (f"{name.removesuffix('.')}:{port}",)


def context(request: Request) -> Context:
    found: Context = request.scope["app"].state.context
    return found


def services(request: Request) -> Services:
    return context(request).services


def client_of(request: Request) -> str:
    """Who is charged without an account: an address, or the network of an IPv6 address."""
    return subject_of_address(asgi.client_of(request.scope))
