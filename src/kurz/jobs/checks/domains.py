"""Verifies custom domains again every day: a domain without its record may belong to somebody
else."""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta

import structlog

from kurz.clock import Clock
from kurz.people.custom_domains import CustomDomains, Domain
from kurz.people.errors import DomainLookupFailed, DomainNotFound, DomainTaken

# How long ago a record was looked up. Less than a day, because the second of two daily runs starts
# less than a day after a lookup of the first.
FRESH = timedelta(hours=20)
# How long a record is missing until its domain is lost: three daily runs. Name servers fail at
# times, mostly for all their names at once.
LOST_AFTER = 2 * FRESH
# The same if most domains are missing at once, which points to the name servers.
ALL_LOST_AFTER = timedelta(days=7)
MANY = 3  # domains: with fewer, "most" says nothing
SOUGHT = timedelta(days=30)  # how long a lost one is still looked up
AT_ONCE = 8
RUN_SECONDS = 300.0

_log = structlog.get_logger(__name__)


class DomainChecks:
    """Looks up the records of domains that are active, or were recently. A domain whose record has
    been missing for days is not served until the record is back. If no name server answers,
    nothing changes."""

    def __init__(
        self, domains: CustomDomains, clock: Clock, *, run_seconds: float = RUN_SECONDS
    ) -> None:
        self._domains = domains
        self._clock = clock
        self._run_seconds = run_seconds

    async def run(self, is_stopping: Callable[[], bool] = lambda: False) -> Mapping[str, int]:
        """How many were found, are missing, were lost, and got no answer. What a run has no time
        for comes first in the next run."""
        counts = {"found": 0, "missing": 0, "lost": 0, "unanswered": 0}
        now = self._clock.now()
        waiting = await self._domains.list_unchecked(now - FRESH, now - SOUGHT)
        missing: list[Domain] = []
        until = time.monotonic() + self._run_seconds
        while waiting and not is_stopping() and time.monotonic() < until:
            some, waiting = waiting[:AT_ONCE], waiting[AT_ONCE:]
            for domain, result in zip(
                some, await asyncio.gather(*map(self._check, some)), strict=True
            ):
                if result is not None:
                    counts[result] += 1
                if result == "missing":
                    missing.append(domain)
        counts["lost"] = await self._judge(missing, counts["found"])
        return counts

    async def _check(self, domain: Domain) -> str | None:
        try:
            is_found = await self._domains.is_proved(domain)
        except DomainLookupFailed:
            return "unanswered"
        except (DomainNotFound, DomainTaken):  # removed meanwhile, or another workspace's
            return None
        return "found" if is_found else "missing"

    async def _judge(self, missing: Sequence[Domain], found: int) -> int:
        """Records the misses; returns how many domains are lost by them."""
        active = [domain for domain in missing if domain.is_active]
        deadline = LOST_AFTER
        if len(active) > found and len(active) + found >= MANY:
            _log.warning(
                "most custom domains lack their TXT records; check the name servers",
                missing=len(active),
                found=found,
            )
            deadline = ALL_LOST_AFTER
        lost = 0
        for domain in missing:
            if await self._domains.miss(domain, deadline):
                lost += 1
                _log.warning(
                    "custom domain deactivated: its TXT record is missing",
                    host=domain.host,
                    workspace_id=domain.workspace_id,
                )
        return lost
