"""Workspaces: teams with their own space of codes, under a slug and custom domains."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Protocol

from kurz.paging import WHOLE, Part
from kurz.people.access import Role
from kurz.people.caps import UNCAPPED
from kurz.people.errors import NameRefused
from kurz.people.receipts import Receipt

GRACE = timedelta(days=30)  # how long a deleted workspace can be restored
MAX_EXPIRY_DAYS = 36_500
_SLUG = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,62}[a-z0-9])?")


@dataclass(frozen=True, slots=True)
class Workspace:
    """`root_url` is where `/` of its domains leads; `strategy` is how its codes are made;
    `default_expiry_days` None: the installation's default, 0: never; `links_per_month` None:
    unlimited. A deleted workspace serves nothing, and can be restored for a while."""

    id: int
    name: str
    slug: str
    root_url: str | None = None
    strategy: str = "deterministic"
    default_expiry_days: int | None = None
    links_per_month: int | None = None
    created_at: datetime | None = None
    deleted_at: datetime | None = None

    def is_gone(self, now: datetime) -> bool:
        """True once it cannot be restored any more."""
        return self.deleted_at is not None and self.deleted_at + GRACE <= now


@dataclass(frozen=True, slots=True)
class Member:
    account_id: int
    email: str
    role: Role
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Site:
    """What a host name means: the root of the installation, a workspace's own domain, or the
    dashboard if that has its own host. `has_codes`: short links work there; `has_pages`: people
    sign in there. A workspace's own domain never has such pages."""

    workspace_id: int
    is_custom_domain: bool = False
    root_url: str | None = None
    has_codes: bool = True
    has_pages: bool = True


class SiteStore(Protocol):
    """An outage raises `StoreUnavailable`."""

    async def verified_sites(self) -> Mapping[str, Site]:
        """The site of every verified custom domain, lower case."""


class WorkspaceStore(SiteStore, Protocol):
    """Stores workspaces and their members. An outage raises `StoreUnavailable`."""

    async def insert(
        self,
        workspace: Workspace,
        owner_id: int | None,
        receipt: Receipt | None = None,
        *,
        at_most: int = UNCAPPED,
    ) -> Workspace | None:
        """Stores a new workspace with its owner; None: the slug is or was in use. `CapReached`,
        here and below: that account owns `at_most` already."""

    async def update(
        self, workspace_id: int, changes: Mapping[str, Any], *, max_slugs: int = UNCAPPED
    ) -> Workspace | None:
        """None: another workspace has or had the new slug. The old slug stays this workspace's.
        `CapReached`: it has had `max_slugs` already."""

    async def find(self, workspace_id: int) -> Workspace | None: ...

    async def find_by_slug(self, slug: str) -> Workspace | None:
        """By its slug or any slug it ever had; not a deleted one."""

    async def find_id(self, slug: str) -> int | None:
        """The same, for a visitor who waits: an outage is reported sooner."""

    async def list_all(self, part: Part = WHOLE) -> list[Workspace]:
        """By id."""

    async def list_of(
        self, account_id: int, now: datetime, only: int | None = None, part: Part = WHOLE
    ) -> list[tuple[Workspace, Role]]:
        """The workspaces an account is a member of, including deleted ones that can be restored, by
        name and id. `only`: just this one."""

    async def find_membership(
        self, workspace_id: int, account_id: int
    ) -> tuple[Workspace, Role] | None:
        """Also of a deleted workspace."""

    async def members(self, workspace_id: int, part: Part = WHOLE) -> list[Member]:
        """By e-mail address."""

    async def find_member(self, workspace_id: int, account_id: int) -> Member | None: ...

    async def join(
        self, token_hash: bytes, account_id: int, now: datetime, *, at_most: int = UNCAPPED
    ) -> Workspace | None:
        """Adds a member with an invitation, which works only once; a member keeps the higher role.
        None: the invitation is invalid."""

    async def set_role(
        self, workspace_id: int, account_id: int, role: Role | None, *, at_most: int = UNCAPPED
    ) -> bool:
        """None removes the member. False: no owner would be left. `MemberNotFound`: there is no
        such member."""

    async def transfer(
        self, workspace_id: int, from_id: int, to_id: int, *, at_most: int = UNCAPPED
    ) -> bool:
        """Makes one member owner and another editor. False: the caller is not an owner or the other
        is not a member."""


class WorkspaceEnds(Protocol):
    """Purges workspaces that can no longer be restored: those deleted at `before` or earlier. Every
    write checks that by its own condition, and does nothing twice. An outage raises
    `StoreUnavailable`."""

    async def find_gone(self, before: datetime) -> list[int]:
        """Their numbers, the first deleted first."""

    async def purge_links(
        self, workspace_id: int, before: datetime, now: datetime, limit: int
    ) -> int:
        """Deletes links of such a workspace permanently, in or out of the trash; returns how many.
        The record of a banned link is kept: deleting the workspace must not remove it."""

    async def purge(self, workspace_id: int, before: datetime) -> bool:
        """Deletes the workspace with its members, domains, invitations and keys. Its slugs stay
        taken permanently. False: it still has links, or is not deleted."""


def is_slug(text: str) -> bool:
    return _SLUG.fullmatch(text) is not None


def check_slug(slug: str) -> None:
    if not is_slug(slug):
        raise NameRefused(
            "A slug must have 1 to 64 characters: a-z, 0-9 and, except at the start and"
            " end, hyphens.",
            field="slug",
        )
