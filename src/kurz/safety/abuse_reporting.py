"""Reports of abuse: anyone reports a link, an administrator decides. The reporter is not stored: a
hash under the salt of the day only shows repeated reports of the same person."""

import secrets
from collections.abc import Sequence
from datetime import datetime
from hashlib import blake2b

from kurz.clicks.ports import SaltStore
from kurz.clicks.visitors import SALT_BYTES
from kurz.clock import Clock
from kurz.links.errors import LinkNotFound
from kurz.links.model import Link, Scope
from kurz.links.ports import LinkStore
from kurz.paging import After
from kurz.people.ids import new_id
from kurz.safety.abuse_reports import AbuseReport, AbuseReportStore, Complaint, ReportState, clean
from kurz.safety.audit import Actor, AuditStore
from kurz.safety.banning import Bans
from kurz.safety.errors import ReportDecided, ReportNotFound
from kurz.safety.hosts import normalise_host

REPORTER_BYTES = 16


class AbuseReports:
    def __init__(
        self,
        store: AbuseReportStore,
        links: LinkStore,
        salts: SaltStore,
        bans: Bans,
        audit: AuditStore,
        clock: Clock,
    ) -> None:
        self.store = store
        self._links = links
        self._salts = salts
        self._bans = bans
        self._audit = audit
        self._clock = clock

    async def take(self, link: Link, short_url: str, complaint: Complaint, subject: str) -> None:
        """`subject` is how limits count the reporter."""
        now = self._clock.now()
        report = AbuseReport(
            id=new_id(),
            link_id=link.id,
            workspace_id=link.workspace_id,
            short_code=link.short_code,
            short_url=short_url,
            location=link.location,
            category=complaint.category,
            message=complaint.message,
            contact=complaint.contact,
            reporter=await self._reporter(link, subject, now),
            reported_at=now,
        )
        await self.store.add(report)

    async def page(
        self, state: ReportState, *, after: After = None, limit: int
    ) -> tuple[Sequence[AbuseReport], int]:
        """Some in this state, and how many there are in all."""
        found = await self.store.list(state, after=after, limit=limit)
        return found, await self.store.count(state)

    async def get(self, report_id: int) -> AbuseReport:
        report = await self.store.find(report_id)
        if report is None:
            raise ReportNotFound("There is no report with this number.")
        return report

    async def dismiss(self, report_id: int, note: str | None, actor: Actor) -> AbuseReport:
        """The link is unchanged."""
        report, note = await self._get_open(report_id), clean("note", note)
        await self._audit.record(actor, "dismiss-report", f"report {report_id}")
        return await self._decide(report, ReportState.DISMISSED, note, actor)

    async def uphold(
        self, report_id: int, note: str | None, actor: Actor, *, bans_host: bool = False
    ) -> AbuseReport:
        """Bans the link, and optionally the host of its destination. This decides all open reports
        of the link. A refusal comes before anything is done."""
        report, note = await self._get_open(report_id), clean("note", note)
        host = normalise_host(report.location) if bans_host else None
        await self._audit.record(actor, "uphold-report", f"report {report_id}")
        reason = f"{report.category}, report {report_id}"
        link = await self._links.find(report.link_id, Scope())
        if link is not None:  # otherwise it was purged meanwhile
            await self._bans.ban_link(link, reason, actor)
        if host is not None:
            await self._bans.ban_host(host, reason, actor)
        return await self._decide(report, ReportState.UPHELD, note, actor)

    async def _get_open(self, report_id: int) -> AbuseReport:
        report = await self.get(report_id)
        if report.state is not ReportState.OPEN:
            raise ReportDecided(f"This report was already {report.state}.")
        return report

    async def _decide(
        self, report: AbuseReport, state: ReportState, note: str | None, actor: Actor
    ) -> AbuseReport:
        by, now = actor.account_id, self._clock.now()
        if not await self.store.decide(report, state, by, note, now):
            raise ReportDecided("Someone else decided this report at the same time.")
        return await self.get(report.id)

    async def _reporter(self, link: Link, subject: str, now: datetime) -> bytes:
        """Different for every link and every day: reports of one person cannot be linked."""
        salt = await self._salts.keep(now.date(), secrets.token_bytes(SALT_BYTES))
        text = f"report\0{link.id}\0{subject}".encode()
        return blake2b(text, key=salt, digest_size=REPORTER_BYTES).digest()


def not_here() -> LinkNotFound:
    """The same error as for a link that does not exist."""
    return LinkNotFound("There is no link at this address. Check it for typos.")
