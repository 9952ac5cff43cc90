"""The databases of `growth.py`: links as in `list.py`, most of them of one account, and ten clicks
for each, as in `stats.py`."""

from datetime import UTC, datetime
from typing import Any

import list_rows
import stats_rows
from kurz.clicks.batch import INSTALLATION, Subject, SubjectKind, tag_subject
from kurz.links.model import ROOT_WORKSPACE_ID, space_of
from kurz.people.accounts import Account
from kurz.storage.followers.month_folder import MonthFolder
from kurz.wiring.core import Kurz
from list_rows import DAY, NOW, TAGS

OWNER_ID = 123_456_789
SPACE = space_of(ROOT_WORKSPACE_ID, OWNER_ID)
OTHERS = 10  # every so many links belong to somebody else
CLICKS = 10  # for each link, on average
KEPT_DAYS = 90  # single clicks, by default
WIDE = {INSTALLATION: 1, Subject(SubjectKind.SPACE, SPACE): 1, tag_subject(SPACE, TAGS[0]): 10}


class Clicks(stats_rows.Data):
    def __init__(self, links: int) -> None:
        options = {"days": KEPT_DAYS, "event_days": KEPT_DAYS}
        super().__init__(links * CLICKS, links, **options, wide=WIDE)

    def _space_of(self, link_id: int) -> int:
        return space_of(ROOT_WORKSPACE_ID, owner_of(link_id))


class Links(list_rows.Data):
    """Personal links, with the clicks that were counted. The reaper has been here: what has ended,
    ended a few days ago and is not due yet."""

    def __init__(self, count: int, clicks: Clicks) -> None:
        super().__init__(count)
        self._totals = clicks.totals

    def _place(self, link_id: int) -> tuple[int, int]:
        return ROOT_WORKSPACE_ID, owner_of(link_id)

    def _clicks(self, link_id: int) -> int:
        return self._totals[Subject(SubjectKind.LINK, link_id)]

    def _times(self, link_id: int) -> tuple[tuple[int | None, ...], tuple[Any, ...]]:
        (created, updated, expires, deleted), state = super()._times(link_id)
        if deleted is not None and deleted < NOW - 29 * DAY:
            deleted = updated = NOW - self._chance.randrange(29 * DAY)
        if expires is not None and expires <= NOW:
            expires = NOW - self._chance.randrange(6 * DAY)
            if state[0] == "ACTIVE":
                state = ("EXPIRED", *state[1:])
        elif expires is not None:
            expires = max(expires, NOW + DAY)  # none expires during the benchmark
        return (created, updated, expires, deleted), state


def owner_of(link_id: int) -> int:
    return OWNER_ID if link_id % OTHERS else OWNER_ID + 1 + link_id // OTHERS % OTHERS


async def fill(kurz: Kurz, links: int) -> None:
    clicks = Clicks(links)
    await stats_rows.fill_clicks(kurz, clicks)
    await list_rows.fill(kurz, Links(links, clicks).rows())
    await add_account(kurz, OWNER_ID)
    while (await MonthFolder(kurz.database, kurz.clock).run())["months"]:
        pass


async def add_account(kurz: Kurz, account_id: int) -> None:
    email = f"account-{account_id}@example.com"
    account = Account(id=account_id, email=email, password_hash="", created_at=datetime.now(UTC))
    assert await kurz.account_store.insert(account) is not None
