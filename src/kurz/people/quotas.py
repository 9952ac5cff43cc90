"""Quotas: how many links may be made in a month. The store spends them in the transaction of the
insert, so that parallel requests cannot pass them."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from kurz.people.errors import QuotaExceeded


@dataclass(frozen=True, slots=True)
class Allowance:
    """What may be spent: `limit` links of `subject` in `month` (such as 202611)."""

    subject: str
    limit: int
    month: int


def allowances(
    now: datetime,
    *,
    account_id: int | None = None,
    per_account: int = 0,
    workspace_id: int | None = None,
    per_workspace: int | None = None,
) -> tuple[Allowance, ...]:
    """What a new link has to fit; nothing where there is no quota."""
    month = now.year * 100 + now.month
    found = []
    if account_id is not None and per_account:
        found.append(Allowance(f"account:{account_id}", per_account, month))
    if workspace_id is not None and per_workspace is not None:
        found.append(Allowance(f"workspace:{workspace_id}", per_workspace, month))
    return tuple(found)


def exceeded(allowance: Allowance, now: datetime) -> QuotaExceeded:
    whose = "your" if allowance.subject.startswith("account:") else "this workspace's"
    year, month = divmod(allowance.month, 100)
    next_month = datetime(year + month // 12, month % 12 + 1, 1, tzinfo=UTC)
    wait = max(1, -((now - next_month) // timedelta(seconds=1)))  # rounded up: not too early
    sentence = f"The quota is {allowance.limit} links a month, and {whose} month is used up."
    return QuotaExceeded(sentence, wait)
