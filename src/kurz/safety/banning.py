"""Bans and unbans links, hosts and people. The audit log is written before anything is done."""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Mapping
from datetime import timedelta

from kurz.clock import Clock
from kurz.links.errors import DestinationRefused, FieldRefused
from kurz.links.model import Link
from kurz.links.service import LinkService
from kurz.people.accounts import LAST_ADMINISTRATOR, AccountService
from kurz.people.errors import AdministratorMissing
from kurz.safety.audit import Actor, AuditStore
from kurz.safety.bans import Ban, BanCause, BanKind, LinkBan, LinkBanStore
from kurz.safety.hosts import BannedHosts, normalise_host
from kurz.safety.screening import ListScreen, ScreenVerdict
from kurz.scheduling import LeaseStore

JOB = "bans"  # carries out the bans of accounts
SCREENING = "screening"  # screens all links again when banned hosts change
MAX_REASON_LENGTH = 500
WINDOW = 10_000  # ids of links per read
BATCH = 500  # links that are restored before the next are read
# A token that a process has cached is refused everywhere after 5 seconds: links created until then
# are found afterwards.
SETTLED = timedelta(seconds=10)
PAUSE_SECONDS = 0.5
_NAMED = (ScreenVerdict.LISTED, ScreenVerdict.BANNED)


class Bans:
    def __init__(
        self,
        links: LinkService,
        accounts: AccountService,
        link_bans: LinkBanStore,
        hosts: BannedHosts,
        screen: ListScreen,
        audit: AuditStore,
        leases: LeaseStore,
        clock: Clock,
    ) -> None:
        self._links = links
        self._accounts = accounts
        self._of_links = link_bans
        self._store = hosts.store
        self.list, self.pending = self._store.list, self._store.pending
        self.list_links, self.find_of_link = link_bans.list, link_bans.find
        self._hosts = hosts
        self._screen = screen
        self._audit = audit
        self._leases = leases
        self._clock = clock

    async def ban_link(self, link: Link, reason: str | None, actor: Actor) -> None:
        """The link answers 410 everywhere within 5 seconds. Harmless if it is banned already."""
        reason = check_reason(reason)
        await self._note(actor, "ban-link", self._name(link), reason)
        ban = LinkBan(
            link_id=link.id, cause=BanCause.ADMIN, reason=reason, banned_by=actor.account_id
        )
        await self._of_links.ban([ban], self._clock.now())

    async def unban_link(self, link: Link, actor: Actor) -> bool:
        """False: it was not banned. `DestinationRefused` while a list or the ban of a host names
        its destination. If its owner is banned, it stays banned for that; while lists cannot be
        read, its visitors are warned."""
        verdict = self._screen.judge(link.location)
        if verdict in _NAMED:
            raise DestinationRefused("This destination is not allowed on this server.")
        await self._note(actor, "unban-link", self._name(link))
        unbanned = await self._of_links.unban(
            [link.id],
            [*BanCause],
            self._clock.now(),
            account_id=actor.account_id,
            are_held=verdict is ScreenVerdict.UNKNOWN,
        )
        return unbanned > 0

    async def ban_host(self, host: str, reason: str | None, actor: Actor) -> Ban:
        """Within 5 seconds, no new link can lead to it or its subdomains. Existing links are banned
        by the next screening, which is requested."""
        host, reason = normalise_host(host), check_reason(reason)
        await self._note(actor, "ban-host", f"host {host}", reason)
        ban = self._make(BanKind.HOST, host, reason, actor)
        await self._store.put(ban)
        await self._leases.ask(SCREENING)
        await self._hosts.refresh(is_feed_stale=True)
        return ban

    async def unban_host(self, host: str, actor: Actor) -> bool:
        """False: it was not banned. The next screening restores its links."""
        host = normalise_host(host)
        await self._note(actor, "unban-host", f"host {host}")
        is_lifted = await self._store.lift(BanKind.HOST, host, self._clock.now())
        if is_lifted:
            await self._hosts.refresh(is_feed_stale=True)
            await self._leases.ask(SCREENING)
        return is_lifted

    async def ban_account(self, account_id: int, reason: str | None, actor: Actor) -> Ban:
        """Disables an account, and requests the job that bans all its links.
        `AdministratorMissing`: it is the last administrator."""
        reason = check_reason(reason)
        await self._accounts.get(account_id)
        await self._note(actor, "ban-account", f"account {account_id}", reason)
        ban = self._make(BanKind.ACCOUNT, str(account_id), reason, actor)
        stored = await self._store.put_account(ban)
        if stored is None:
            raise AdministratorMissing(LAST_ADMINISTRATOR)
        await self._leases.ask(JOB)
        return stored

    async def unban_account(self, account_id: int, actor: Actor) -> bool:
        """Enables the account again, unless it was disabled before the ban. The job restores its
        links. False: it was not banned."""
        await self._accounts.get(account_id)
        await self._note(actor, "unban-account", f"account {account_id}")
        ban = await self._store.find(BanKind.ACCOUNT, str(account_id))
        if ban is None:
            return False
        if not ban.was_disabled:  # first: if the rest fails, there is still a ban to lift
            await self._accounts.set_disabled(account_id, is_disabled=False)
        is_lifted = await self._store.lift(BanKind.ACCOUNT, ban.subject, self._clock.now())
        await self._leases.ask(JOB)
        return is_lifted

    async def run(self, is_stopping: Callable[[], bool] = lambda: False) -> Mapping[str, int]:
        """Carries out the bans of accounts, and undoes lifted ones; returns how many links it
        banned and restored."""
        counts = {"banned": 0, "unbanned": 0}
        while not is_stopping() and (pending := await self._store.pending()):
            for ban in pending:
                began = self._clock.now()
                name = "banned" if ban.lifted_at is None else "unbanned"
                work = self._ban_all if ban.lifted_at is None else self._unban_all
                counts[name] += await work(ban, is_stopping)
                is_done = ban.lifted_at is not None or began >= ban.banned_at + SETTLED
                if is_done and not is_stopping():
                    await self._store.confirm(ban)
            await asyncio.sleep(PAUSE_SECONDS)
        return counts

    async def begin(self, ban: Ban) -> int:
        """Applies the ban of an account to its existing links, for a caller who waits for it. The
        job finds those that are created meanwhile."""
        return await self._ban_all(ban, lambda: False)

    async def undo(self, account_id: int) -> int:
        """Restores the links of an account whose ban was just lifted, for a caller who waits. The
        job checks again, and completes it."""
        total = 0
        for ban in await self._store.pending():
            if ban.subject == str(account_id) and ban.lifted_at is not None:
                total += await self._unban_all(ban, lambda: False)
        return total

    async def _ban_all(self, ban: Ban, is_stopping: Callable[[], bool]) -> int:
        total, after = 0, 0
        while not is_stopping():
            found, end = await self._store.links_of(int(ban.subject), after, WINDOW)
            bans = [
                LinkBan(
                    link_id=link_id,
                    cause=BanCause.ACCOUNT,
                    subject=ban.subject,
                    reason=ban.reason,
                    banned_by=ban.banned_by,
                )
                for link_id in found
            ]
            total += await self._of_links.ban(bans, self._clock.now())
            if end is None:
                break
            after = end
        return total

    async def _unban_all(self, ban: Ban, is_stopping: Callable[[], bool]) -> int:
        """Except for links that lists or bans of hosts name: they are the cause from now on."""
        total, after = 0, 0
        while not is_stopping():
            found = await self._of_links.locations(BanCause.ACCOUNT, ban.subject, after, BATCH)
            if not found:
                break
            by: dict[ScreenVerdict, list[int]] = defaultdict(list)
            for link_id, location in found:
                by[self._screen.judge(location)].append(link_id)
            if named := [link_id for verdict in _NAMED for link_id in by[verdict]]:
                await self._of_links.hand_over(named, ban.subject, BanCause.LIST)
            for verdict in (ScreenVerdict.ADMITTED, ScreenVerdict.UNKNOWN):
                total += await self._of_links.unban(
                    by[verdict],
                    [BanCause.ACCOUNT],
                    self._clock.now(),
                    are_held=verdict is ScreenVerdict.UNKNOWN,
                )
            after = found[-1][0]
        return total

    def _make(self, kind: BanKind, subject: str, reason: str | None, actor: Actor) -> Ban:
        return Ban(
            kind=kind,
            subject=subject,
            reason=reason,
            banned_by=actor.account_id,
            banned_at=self._clock.now(),
            is_pending=kind is BanKind.ACCOUNT,
        )

    async def _note(
        self, actor: Actor, action: str, subject: str, reason: str | None = None
    ) -> None:
        details = {} if reason is None else {"reason": reason}
        await self._audit.record(actor, action, subject, details)

    def _name(self, link: Link) -> str:
        return f"link {self._links.public_id(link)}"


def check_reason(reason: str | None) -> str | None:
    reason = reason and reason.strip()
    if not reason:
        return None
    if len(reason) > MAX_REASON_LENGTH or not reason.isprintable():
        raise FieldRefused(
            f"The reason must be one line of plain text with at most {MAX_REASON_LENGTH}"
            " characters.",
            field="reason",
        )
    return reason
