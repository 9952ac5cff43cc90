"""Screens existing links when lists or bans have changed, and from time to time."""

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from kurz.clock import Clock
from kurz.rounds import wait_at_most
from kurz.safety.bans import BanCause, LinkBan, LinkBanStore
from kurz.safety.hosts import BannedHosts, above, host_of
from kurz.safety.rescreening import JOB, RULED, RescreenPosition, ScreeningStore, Seen
from kurz.safety.screening import ListScreen, ScreenVerdict
from kurz.scheduling import LeaseStore, Result, RunContext, RunOutcome

PAUSE_SECONDS = 0.02
OVERTAKEN = 2000


@dataclass(frozen=True)
class ScreeningPace:
    batch: int = 1000
    run_seconds: float = 20 * 60.0
    # After this time all processes have the new rules. Links written before that are screened again
    # from the change log: since the start of the run, or a little earlier, because commits can be
    # out of order.
    settle_seconds: float = 5.0
    learn_seconds: float = 5.0  # between checks for hosts that were banned during a run


USUAL_PACE = ScreeningPace()


class Screening:
    """The `Work` of a runner. Held links come first, then those that were banned by lists or hosts,
    then all others. The next run continues where one has ended. While lists cannot be read, nothing
    changes."""

    def __init__(
        self,
        store: ScreeningStore,
        bans: LinkBanStore,
        banned: BannedHosts,
        screen: ListScreen,
        leases: LeaseStore,
        clock: Clock,
        pace: ScreeningPace = USUAL_PACE,
    ) -> None:
        self._store = store
        self._bans = bans
        self._banned = banned
        self._screen = screen
        self._leases = leases
        self._clock = clock
        self._pace = pace
        self._learned_at = 0.0
        self._asked_for: str | None = None
        self._totals: Counter[str] = Counter()

    def counts(self) -> dict[str, int]:
        names = ("banned", "unbanned", "released")
        return {f"screening_{name}": self._totals[name] for name in names}

    async def look(self, now: datetime) -> None:  # noqa: ARG002  the rules decide, not the clock
        """Requests a run if the rules have changed, or links are held for no reason. Other
        instances may have other lists, so a run is requested only once for the same rules."""
        await self._learn()
        if not self._screen.is_sure:
            return
        digest = self._screen.digest
        position = await self._store.position()
        is_new = digest not in (position.digest, self._asked_for)
        is_unfinished = digest == position.digest and position.finished_at is None
        is_wanted = is_new or is_unfinished or position.has_held
        if is_wanted and await self._leases.ask(JOB) is not None:
            self._asked_for = digest

    async def run(self, context: RunContext) -> Result:
        self._asked_for = None  # a failed or skipped run is requested again
        await self._learn()
        if not self._screen.is_sure:
            return Result(RunOutcome.SKIPPED, "Some lists cannot be read.")
        digest = self._screen.digest
        until = time.monotonic() + self._pace.run_seconds

        def is_over() -> bool:
            is_other = self._screen.digest != digest or not self._screen.is_sure
            return is_other or context.stopping.is_set() or time.monotonic() >= until

        await self._walk(self._store.held, self._judge_held, context, is_over)
        await self._walk(self._store.banned, self._judge_banned, context, is_over)
        if not self._screen.has_rules or await self._walk_all(digest, context, is_over):
            await self._store.keep(RescreenPosition(digest, 0, self._clock.now()))
            self._asked_for = digest
        return Result()

    async def _walk_all(
        self, digest: str, context: RunContext, is_over: Callable[[], bool]
    ) -> bool:
        """Whether it came to the end; it begins where the last run by the same rules left off."""
        settled_at = time.monotonic() + self._pace.settle_seconds
        since = await self._store.last_change() - OVERTAKEN
        known = await self._store.position()
        last = known.link_id if known.digest == digest and known.finished_at is None else 0

        async def judge(seen: Sequence[Seen], context: RunContext) -> None:
            nonlocal last
            await self._judge(seen, context)
            last = seen[-1].link_id
            await self._store.keep(RescreenPosition(digest, last))

        if not await self._walk(self._store.next, judge, context, is_over, last):
            return False
        await wait_at_most(context.stopping, max(settled_at - time.monotonic(), 0))
        return await self._walk_changes(since, context, is_over)

    async def _walk_changes(
        self, since: int, context: RunContext, is_over: Callable[[], bool]
    ) -> bool:
        """Screens what was written during the run, perhaps by processes with old rules. Returns
        whether it reached the end."""
        until = await self._store.last_change()
        while since < until:
            if is_over():
                return False
            since, seen = await self._store.changed(since, self._pace.batch)
            await self._judge(seen, context)
            await self._rest()
        return True

    async def _learn(self) -> None:
        """Reads the hosts that are banned by now."""
        self._learned_at = time.monotonic()
        await self._banned.refresh(is_feed_stale=True)

    async def _rest(self) -> None:
        await asyncio.sleep(PAUSE_SECONDS)
        if time.monotonic() - self._learned_at >= self._pace.learn_seconds:
            await self._learn()

    async def _walk(
        self,
        read: Callable[[int, int], Awaitable[Sequence[Seen]]],
        judge: Callable[[Sequence[Seen], RunContext], Awaitable[None]],
        context: RunContext,
        is_over: Callable[[], bool],
        after: int = 0,
    ) -> bool:
        """Whether it came to the end."""
        while not is_over():
            seen = await read(after, self._pace.batch)
            if not seen:
                return True
            await judge(seen, context)
            after = seen[-1].link_id
            await self._rest()
        return False

    async def _judge_held(self, seen: Sequence[Seen], context: RunContext) -> None:
        await self._judge(seen, context)
        admitted = [link for link in seen if self._verdict(link) is ScreenVerdict.ADMITTED]
        self._add(context, "released", await self._store.release(admitted, self._clock.now()))

    async def _judge_banned(self, seen: Sequence[Seen], context: RunContext) -> None:
        admitted = [link.link_id for link in seen if self._verdict(link) is ScreenVerdict.ADMITTED]
        if admitted:
            unbanned = await self._bans.unban(admitted, RULED, self._clock.now())
            self._add(context, "unbanned", unbanned)

    async def _judge(self, seen: Sequence[Seen], context: RunContext) -> None:
        bans = [ban for link in seen if (ban := self._ban(link)) is not None]
        if bans:
            self._add(context, "banned", await self._bans.ban(bans, self._clock.now()))
        context.add("screened", len(seen))

    def _ban(self, link: Seen) -> LinkBan | None:
        verdict = self._verdict(link)
        if verdict is ScreenVerdict.LISTED:
            return LinkBan(link_id=link.link_id, cause=BanCause.LIST)
        if verdict is not ScreenVerdict.BANNED:
            return None
        host = above(host_of(link.location), self._screen.banned_hosts)
        return LinkBan(link_id=link.link_id, cause=BanCause.HOST, subject=host)

    def _verdict(self, link: Seen) -> ScreenVerdict:
        return self._screen.judge(link.location)

    def _add(self, context: RunContext, name: str, count: int) -> None:
        self._totals[name] += count
        context.add(name, count)
