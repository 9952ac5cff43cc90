"""Bans of links, of hosts and of people."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Protocol

from kurz.paging import WHOLE, Part


class Cause(StrEnum):
    """Why a link is banned. What a list, a host's or a person's ban has done is undone with it."""

    ADMIN = "admin"  # this very link
    LIST = "list"  # a blocklist names its destination
    HOST = "host"  # its destination's host is banned
    ACCOUNT = "account"  # its owner is banned


class BanKind(StrEnum):
    HOST = "host"
    ACCOUNT = "account"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ban:
    """Of a host with all below it, or of an account. `lifted_at`: taken back, and about to be
    undone. `was_disabled`: the account was so before, and stays so after it."""

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
    """`subject`: the host or the account that was banned. What stands below `banned_by` is of one
    that is stored."""

    link_id: int
    cause: Cause
    subject: str | None = None
    reason: str | None = None
    banned_by: int | None = None
    banned_at: datetime | None = None
    short_code: str | None = None
    workspace_id: int | None = None


# A stronger cause takes a link over from a weaker one, and keeps it banned when that one ends.
STRENGTH = {Cause.LIST: 0, Cause.HOST: 1, Cause.ACCOUNT: 2, Cause.ADMIN: 3}


class LinkBanStore(Protocol):
    """Every write leaves its rows in the change log and in the links' history, in transactions that
    nobody waits long for. An outage raises `StoreUnavailable`."""

    async def ban(self, bans: Sequence[LinkBan], now: datetime) -> int:
        """Bans those that are not banned for as strong a cause yet; tells how many. For a person's
        ban that was taken back meanwhile, none."""

    async def unban(
        self,
        link_ids: Sequence[int],
        causes: Sequence[Cause],
        now: datetime,
        *,
        account_id: int | None = None,
        are_held: bool = False,
    ) -> int:
        """Brings those back, as they were, that are banned for one of these causes; tells how
        many. What belongs to nobody any more goes to the trash instead; what belongs to somebody
        who is banned stays banned for that. `are_held`: visitors are to be warned of them."""

    async def hand_over(self, link_ids: Sequence[int], account: str, cause: Cause) -> None:
        """Those that are banned with this account stay so, for another cause from now on."""

    async def find(self, link_id: int) -> LinkBan | None: ...

    async def list(
        self, *, before: tuple[datetime, int] | None = None, limit: int
    ) -> Sequence[LinkBan]:
        """The newest first, from the one behind an instant and a link on."""

    async def locations(
        self, cause: Cause, subject: str, after: int, limit: int
    ) -> Sequence[tuple[int, str]]:
        """The next links behind an id that are banned so, and where they led."""


class BanStore(Protocol):
    """Bans of hosts and of accounts. An outage raises `StoreUnavailable`."""

    async def put(self, ban: Ban) -> None:
        """Instead of an earlier one. Of a host's, every process hears."""

    async def put_account(self, ban: Ban) -> Ban | None:
        """As `put`, and disables the account with it: both, or neither. The ban that is returned
        knows whether the account was disabled before, from an earlier ban where there is one.
        None: it is the last administrator's."""

    async def lift(self, kind: BanKind, subject: str, now: datetime) -> bool:
        """Takes a ban back; an account's until it is undone. False: there was none."""

    async def settle(self, ban: Ban) -> None:
        """It is carried out as it stands, or undone."""

    async def find(self, kind: BanKind, subject: str) -> Ban | None: ...

    async def list(self, kind: BanKind, part: Part = WHOLE) -> Sequence[Ban]:
        """By subject, without those that were taken back."""

    async def pending(self) -> Sequence[Ban]:
        """Of accounts: what is to be carried out, or undone."""

    async def hosts(self) -> frozenset[str]: ...

    async def links_of(
        self, account_id: int, after: int, window: int
    ) -> tuple[Sequence[int], int | None]:
        """Ids of links that an account owns, which are not banned for it, among the next `window`
        ids; and where to go on, None at the end."""
