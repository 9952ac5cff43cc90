"""Checks of destinations, over the parts that `bootstrap` has opened."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta

from kurz.bootstrap import Kurz
from kurz.jobs.boot_clock import BootClock
from kurz.jobs.checks import LEASE_RUNS, REST_SECONDS, RUN_SECONDS, CheckJob
from kurz.jobs.runner import Runner
from kurz.people.own_hosts import OwnHosts
from kurz.safety.checks import JOB, Checker, Turns
from kurz.safety.link_checks import LinkChecks
from kurz.scheduling import Schedule
from kurz.settings import Settings
from kurz.storage.checks import SqlCheckStore
from kurz.storage.database import Database
from kurz.storage.destination_follower import DestinationFollower
from kurz.storage.job_runs import SqlRunStore
from kurz.storage.leases import SqlLeaseStore

TICK_SECONDS = 2.0  # somebody may wait for a check


@dataclass(frozen=True)
class Checking:
    """What checks destinations. All of it is None where that is switched off."""

    follower: DestinationFollower | None
    job: CheckJob | None
    runner: Runner | None

    def start(self) -> None:
        if self.follower is not None and self.runner is not None:
            self.follower.start()
            self.runner.start()

    def leave_off(self) -> None:
        if self.runner is not None:
            self.runner.leave_off()

    def counts(self) -> dict[str, int]:
        if self.job is None or self.runner is None:
            return {}
        return {**self.runner.counts(), **self.job.counts()}


def schedule_of(settings: Settings) -> Schedule:
    """A run that was not done in its time is followed by the next one at once."""
    longest = timedelta(seconds=RUN_SECONDS)
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
    """What any process can tell of checks, and ask of them."""
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
    """It goes on from `start`. Where checks are off, links are not followed to their destinations
    either: the follower catches up when they are on again."""
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
        checking.leave_off()
        await follower.stop()
        await runner.stop()


def make_job(
    kurz: Kurz,
    checker: Checker,
    turns: Turns,
    *,
    rest_seconds: float = REST_SECONDS,
    boot_clock: BootClock | None = None,
) -> CheckJob:
    leases = SqlLeaseStore(kurz.database, kurz.clock)
    store = open_store(kurz)
    return CheckJob(
        store,
        checker,
        turns,
        leases,
        kurz.clock,
        rest_seconds=rest_seconds,
        boot_clock=boot_clock,
    )


def make_runner(kurz: Kurz, job: CheckJob) -> Runner:
    return Runner(
        schedule_of(kurz.settings),
        job,
        SqlLeaseStore(kurz.database, kurz.clock),
        SqlRunStore(kurz.database, kurz.clock),
        tick_seconds=TICK_SECONDS,
    )


def open_checker(kurz: Kurz) -> tuple[Checker, Turns]:
    """Imported late: workers call nobody."""
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
