"""Bans of links, of hosts and of people."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Protocol

from kurz.paging import WHOLE, After, Part


class BanCause(StrEnum):
    """Why a link is banned. A ban by a list, or because of a host or an account, ends when that
    cause ends."""

    ADMIN = "admin"  # this link itself
    LIST = "list"  # a blocklist names its destination
    HOST = "host"  # its destination's host is banned
    ACCOUNT = "account"  # its owner is banned


class BanKind(StrEnum):
    HOST = "host"
    ACCOUNT = "account"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ban:
    """A ban of a host with its subdomains, or of an account. `lifted_at`: lifted, and about to be
    undone. `was_disabled`: the account was disabled before, and stays so after the ban."""

    kind: BanKind
    subject: str
    reason: str | None
    banned_by: int | None
    banned_at: datetime
    is_pending: bool = False
    lifted_at: datetime | None = None
    was_disabled: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkBan:
    """`subject`: the host or the account that was banned. The fields after `banned_by` are those of
    a stored ban."""

    link_id: int
    cause: BanCause
    subject: str | None = None
    reason: str | None = None
    banned_by: int | None = None
    banned_at: datetime | None = None
    short_code: str | None = None
    workspace_id: int | None = None


# A stronger cause replaces a weaker one, and keeps the link banned when that one ends.
STRENGTH = {BanCause.LIST: 0, BanCause.HOST: 1, BanCause.ACCOUNT: 2, BanCause.ADMIN: 3}


class LinkBanStore(Protocol):
    """Every write leaves its rows in the change log and in the links' history, in short
    transactions. An outage raises `StoreUnavailable`."""

    async def ban(self, bans: Sequence[LinkBan], now: datetime) -> int:
        """Bans links that are not yet banned for as strong a cause; returns how many. 0 if the ban
        of a person was lifted meanwhile."""

    async def unban(
        self,
        link_ids: Sequence[int],
        causes: Sequence[BanCause],
        now: datetime,
        *,
        account_id: int | None = None,
        are_held: bool = False,
    ) -> int:
        """Restores links that are banned for one of these causes to their earlier state; returns
        how many. A link without an owner by now goes to the trash instead; a link of a banned owner
        stays banned for that. `are_held`: visitors must be warned about them."""

    async def hand_over(self, link_ids: Sequence[int], account: str, cause: BanCause) -> None:
        """Links that are banned because of this account stay banned, for another cause from now
        on."""

    async def find(self, link_id: int) -> LinkBan | None: ...

    async def list(self, *, before: After = None, limit: int) -> Sequence[LinkBan]:
        """The newest first, from the one behind an instant and a link on."""

    async def locations(
        self, cause: BanCause, subject: str, after: int, limit: int
    ) -> Sequence[tuple[int, str]]:
        """The next links after an id that are banned for these causes, and their destinations."""


class BanStore(Protocol):
    """Bans of hosts and of accounts. An outage raises `StoreUnavailable`."""

    async def put(self, ban: Ban) -> None:
        """Replaces an earlier one. Every process learns of a host's ban."""

    async def put_account(self, ban: Ban) -> Ban | None:
        """Like `put`, and disables the account: both, or neither. The returned ban says whether the
        account was disabled before, according to an earlier ban if there is one. None: it is the
        last administrator."""

    async def lift(self, kind: BanKind, subject: str, now: datetime) -> bool:
        """Lifts a ban; an account's ban stays marked until it is undone. False: there was none."""

    async def confirm(self, ban: Ban) -> None:
        """Notes that the ban in this state is carried out, or undone."""

    async def find(self, kind: BanKind, subject: str) -> Ban | None: ...

    async def list(self, kind: BanKind, part: Part = WHOLE) -> Sequence[Ban]:
        """By subject, without lifted ones."""

    async def pending(self) -> Sequence[Ban]:
        """Bans of accounts that must be carried out or undone."""

    async def hosts(self) -> frozenset[str]: ...

    async def links_of(
        self, account_id: int, after: int, window: int
    ) -> tuple[Sequence[int], int | None]:
        """Ids of an account's links that are not banned because of it, among the next `window` ids;
        and where to continue, None at the end."""
