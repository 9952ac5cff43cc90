"""Checks of destinations, over the parts that `core` has opened."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta

from kurz.jobs.boot_clock import BootClock
from kurz.jobs.checks.destinations import LEASE_RUNS, CheckJob
from kurz.jobs.checks.queue import USUAL_PACE, CheckPace
from kurz.jobs.runner import Runner
from kurz.people.own_hosts import OwnHosts
from kurz.safety.checks import JOB, Checker, SiteTurns
from kurz.safety.link_checks import LinkChecks
from kurz.scheduling import Schedule
from kurz.settings.model import Settings
from kurz.storage.engine.database import Database
from kurz.storage.followers.destinations import DestinationFollower
from kurz.storage.jobs.leases import SqlLeaseStore
from kurz.storage.jobs.runs import SqlRunStore
from kurz.storage.safety.checks import SqlCheckStore
from kurz.wiring.core import Kurz

TICK_SECONDS = 2.0  # somebody may wait for a check


@dataclass(frozen=True)
class Checking:
    """The parts that check destinations. All are None if checks are switched off."""

    follower: DestinationFollower | None
    job: CheckJob | None
    runner: Runner | None

    def start(self) -> None:
        if self.follower is not None and self.runner is not None:
            self.follower.start()
            self.runner.start()

    def request_stop(self) -> None:
        if self.runner is not None:
            self.runner.request_stop()

    def counts(self) -> dict[str, int]:
        if self.job is None or self.runner is None:
            return {}
        return {**self.runner.counts(), **self.job.counts()}


def schedule_of(settings: Settings) -> Schedule:
    """A run that was not done in its time is followed by the next one at once."""
    longest = timedelta(seconds=USUAL_PACE.run_seconds)
    return Schedule(
        job=JOB,
        every=longest,
        first_after=timedelta(minutes=1),
        at_least=timedelta(0),
        at_most=LEASE_RUNS * longest,
        is_enabled=are_on(settings),
    )


def are_on(settings: Settings) -> bool:
    return settings.destination_checks == "on"


def open_link_checks(kurz: Kurz) -> LinkChecks:
    """Checks as any process can show and request them."""
    return LinkChecks(
        kurz.links,
        open_store(kurz),
        SqlLeaseStore(kurz.database, kurz.clock),
        kurz.clock,
        is_on=are_on(kurz.settings),
    )


def open_store(kurz: Kurz) -> SqlCheckStore:
    return SqlCheckStore(kurz.database, site_of)


@asynccontextmanager
async def open_checking(
    kurz: Kurz,
    boot_clock: BootClock | None = None,
    followers_database: Database | None = None,
) -> AsyncIterator[Checking]:
    """It runs from `start` on. If checks are off, destinations are not followed either: the
    follower catches up when they are on again."""
    if not are_on(kurz.settings):
        yield Checking(None, None, None)
        return
    follower = DestinationFollower(followers_database or kurz.database, kurz.clock, site_of)
    checker, turns = open_checker(kurz)
    job = make_job(kurz, checker, turns, boot_clock=boot_clock)
    runner = make_runner(kurz, job)
    checking = Checking(follower, job, runner)
    try:
        yield checking
    finally:
        checking.request_stop()
        await follower.stop()
        await runner.stop()


def make_job(
    kurz: Kurz,
    checker: Checker,
    turns: SiteTurns,
    *,
    pace: CheckPace = USUAL_PACE,
    boot_clock: BootClock | None = None,
) -> CheckJob:
    leases, clock = SqlLeaseStore(kurz.database, kurz.clock), kurz.clock
    return CheckJob(open_store(kurz), checker, turns, leases, clock, pace, boot_clock=boot_clock)


def make_runner(kurz: Kurz, job: CheckJob) -> Runner:
    return Runner(
        schedule_of(kurz.settings),
        job,
        SqlLeaseStore(kurz.database, kurz.clock),
        SqlRunStore(kurz.database, kurz.clock),
        tick_seconds=TICK_SECONDS,
    )


def open_checker(kurz: Kurz) -> tuple[Checker, SiteTurns]:
    """Imported late: workers never call destinations."""
    from kurz.outbound import checker, sites

    settings, turns = kurz.settings, sites.SiteGate()
    opened = checker.open_checker(
        OwnHosts(settings.base_url, kurz.domains, settings.dashboard_url).get,
        turns,
        networks=settings.check_networks,
        ports=settings.check_ports,
        name_servers=settings.dns_servers,
    )
    return opened, turns


def site_of(location: str) -> str:
    """Imported late: the list of public suffixes takes memory."""
    from kurz.outbound import sites

    return sites.site_of(location)
