"""Quotas: how many links may be created in a month. The store spends them in the transaction of the
insert, so that parallel requests cannot exceed them."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Protocol

from kurz.people.errors import QuotaExceeded


@dataclass(frozen=True, slots=True)
class Allowance:
    """What may be spent: `limit` links of `subject` in `month` (such as 202611)."""

    subject: str
    limit: int
    month: int

    @property
    def ends_at(self) -> datetime:
        """When the next month begins."""
        year, month = divmod(self.month, 100)
        return datetime(year + month // 12, month % 12 + 1, 1, tzinfo=UTC)


UNLIMITED = -1  # of an account, where the server's default is a number


def account_quota(own: int | None, default: int) -> int | None:
    """How many links a person may create in a month; None is unlimited. `own` None: the server's
    default, where 0 is unlimited."""
    if own is None:
        return default or None
    return None if own == UNLIMITED else own


class UsageStore(Protocol):
    """An outage raises `StoreUnavailable`."""

    async def spent(self, allowance: Allowance) -> int:
        """How many links have been created under it."""


def allowances(
    now: datetime,
    *,
    account_id: int | None = None,
    per_account: int | None = None,
    workspace_id: int | None = None,
    per_workspace: int | None = None,
) -> tuple[Allowance, ...]:
    """What a new link must fit into; empty if there is no quota."""
    month = now.year * 100 + now.month
    found = []
    if account_id is not None and per_account is not None:
        found.append(Allowance(f"account:{account_id}", per_account, month))
    if workspace_id is not None and per_workspace is not None:
        found.append(Allowance(f"workspace:{workspace_id}", per_workspace, month))
    return tuple(found)


def exceeded(allowance: Allowance, now: datetime) -> QuotaExceeded:
    whose = "Your" if allowance.subject.startswith("account:") else "This workspace's"
    wait = max(1, -((now - allowance.ends_at) // timedelta(seconds=1)))  # rounded up: not too early
    sentence = (
        f"{whose} quota of {allowance.limit} links per month is reached. Wait until next month, or"
        " ask an administrator for more."
    )
    return QuotaExceeded(sentence, wait)
