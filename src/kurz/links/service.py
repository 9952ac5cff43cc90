"""What may be done with links: create, read, list, edit, delete, restore."""

import asyncio
import hashlib
import secrets
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from datetime import datetime

from kurz.clock import Clock
from kurz.errors import KurzError
from kurz.links import lifecycle, urls
from kurz.links.code_generator import CodeGenerator
from kurz.links.codes import custom
from kurz.links.codes.permutation import Permutation
from kurz.links.drafting import Drafting, changes_of, revival_of
from kurz.links.errors import (
    CodesExhausted,
    InstantRefused,
    LinkBanned,
    LinkChanged,
    LinkNotFound,
    VersionOutdated,
    code_taken,
)
from kurz.links.inserting import EDIT_ATTEMPTS, Inserter, NewLink
from kurz.links.listing import Listing
from kurz.links.model import (
    Created,
    Draft,
    Edit,
    Filter,
    HistoryEntry,
    Link,
    LinkAction,
    LinkPage,
    Scope,
    Status,
)
from kurz.links.ports import LinkStore, NullScreen, Screen
from kurz.paging import WHOLE, Part
from kurz.people.own_hosts import OwnHosts
from kurz.people.quotas import Allowance
from kurz.people.receipts import Receipt

DRAFTS_A_TURN = 32  # of many, in an iteration of the event loop: about 1 ms


class LinkService:
    def __init__(
        self,
        store: LinkStore,
        code_generator: CodeGenerator,
        drafting: Drafting,
        ids: Permutation,
        own_hosts: OwnHosts,
        clock: Clock,
        screen: Screen | None = None,
        purged_at: Callable[[Link], datetime | None] = lambda _: None,
    ) -> None:
        self._store = store
        self._code_generator = code_generator
        self._drafting = drafting
        self._ids = ids
        self._own_hosts = own_hosts
        self._clock = clock
        self._screen = screen or NullScreen()
        self.purged_at = purged_at  # when a link in the trash is due to be purged; None: never
        self._listing = Listing(store, ids, clock)
        self._inserter = Inserter(store, code_generator)

    async def create(
        self,
        draft: Draft,
        *,
        own_hosts: Collection[str] = (),
        allowances: tuple[Allowance, ...] = (),
        receipt: Receipt | None = None,
    ) -> Created:
        """A new link, or the existing one for a deterministic code, or for a custom code that
        already leads to the same URL. `own_hosts` adds the host of this request, if no base URL is
        configured. The store spends the allowances and stores the receipt with the new link; the
        receipt gets what this returns."""
        now = self._clock.now()
        link = self._link(draft, now, await self._own_hosts.get(), own_hosts)
        token = secrets.token_urlsafe(32) if draft.is_anonymous else None
        claim_hash = None if token is None else hash_claim_token(token)
        return await self._inserter.insert(
            NewLink(link, token, claim_hash, allowances, receipt), now
        )

    async def create_many(
        self,
        drafts: Sequence[Draft],
        *,
        own_hosts: Collection[str] = (),
        allowances: tuple[Allowance, ...] = (),
    ) -> list[Created | KurzError | None]:
        """Creates links of one caller with an account in one transaction. None: `create` must
        decide, because the code or URL may be taken, or a quota may not allow it."""
        now, hosts = self._clock.now(), await self._own_hosts.get()
        links: list[Link] = []
        refused: dict[int, KurzError] = {}
        for number, draft in enumerate(drafts):
            if number % DRAFTS_A_TURN == DRAFTS_A_TURN - 1:
                await asyncio.sleep(0)
            try:
                links.append(self._link(draft, now, hosts, own_hosts))
            except KurzError as error:
                refused[number] = error
        created = iter(await self._inserter.insert_many(links, allowances) if links else ())
        return [refused.get(number) or next(created) for number in range(len(drafts))]

    def _link(self, draft: Draft, now: datetime, *own_hosts: Collection[str]) -> Link:
        strategy = self._code_generator.choose(
            draft.strategy, draft.custom_code, draft.workspace_id, draft.default_strategy
        )
        url = urls.judge(draft.original_url, *own_hosts)
        link = self._drafting.link(draft, strategy, url, now)
        link.held_at = self._screened(url.location, now)
        return link

    async def claim(
        self,
        account_id: int,
        draft: Draft | None,
        *,
        short_code: str | None = None,
        claim_token: str | None = None,
        own_hosts: Collection[str] = (),
        allowances: tuple[Allowance, ...] = (),
    ) -> Created:
        """Gives an anonymous link to the account if the token is right. Otherwise creates a new
        link for the draft's URL, and the anonymous one is unchanged. A repeated call returns the
        same link. `LinkNotFound`: the token is not right, and there is no draft."""
        if short_code is not None and claim_token is not None and custom.is_possible(short_code):
            found = await self._claim(account_id, short_code, claim_token, allowances)
            if found is not None:
                return found
        if draft is None:
            raise LinkNotFound("Links cannot be claimed here.")
        url = urls.judge(draft.original_url, await self._own_hosts.get(), own_hosts)
        claim_hash = hashlib.sha256(b"claim of\0" + url.original.encode()).digest()
        earlier = await self._store.find_claimed(account_id, claim_hash)
        if earlier is not None:
            return Created(earlier, is_new=False)
        strategy = self._code_generator.choose(None, None, draft.workspace_id)
        now = self._clock.now()
        link = self._drafting.link(draft, strategy, url, now)
        link.held_at = self._screened(url.location, now)
        try:
            return await self._inserter.insert(NewLink(link, None, claim_hash, allowances), now)
        except CodesExhausted:
            earlier = await self._store.find_claimed(account_id, claim_hash)
            if earlier is None:
                raise
            return Created(earlier, is_new=False)  # by the same claim, sent twice at the same time

    async def _claim(
        self,
        account_id: int,
        short_code: str,
        claim_token: str,
        allowances: tuple[Allowance, ...],
    ) -> Created | None:
        """A claimed link is permanent, so it is screened again. Only a caller with the token learns
        that its destination is refused."""
        claim_hash = hash_claim_token(claim_token)
        claimed = await self._store.claim(
            short_code,
            claim_hash,
            account_id,
            self._clock.now(),
            allowances,
            admit=self._screen.admit,
        )
        if claimed is not None:
            return Created(claimed, is_new=True)
        earlier = await self._store.find_claimed(account_id, claim_hash)
        if earlier is None or earlier.short_code != short_code:
            return None
        return Created(earlier, is_new=False)

    async def history(
        self, public_id: int, scope: Scope, part: Part = WHOLE
    ) -> Sequence[HistoryEntry]:
        link = await self.get(public_id, scope)
        return await self._store.history(link.id, part)

    async def get(self, public_id: int, scope: Scope) -> Link:
        link = await self._store.find(self._row_id(public_id), scope)
        if link is None:
            raise LinkNotFound("There is no link with this ID.")
        return link

    async def get_by_code(self, workspace_id: int, short_code: str) -> Link:
        is_possible = custom.is_possible(short_code)
        link = await self._store.find_by_code(workspace_id, short_code) if is_possible else None
        if link is None:
            raise LinkNotFound("There is no link with this code.")
        return link

    async def list(
        self, scope: Scope, wanted: Filter, *, cursor: str | None = None, limit: int = 50
    ) -> LinkPage:
        """A page of links; `cursor` is the `next_cursor` of the page before."""
        return await self._listing.page(scope, wanted, cursor, limit)

    async def edit(
        self,
        public_id: int,
        scope: Scope,
        edit: Edit,
        *,
        expected_version: int | None = None,
        own_hosts: Collection[str] = (),
        account_id: int | None = None,
    ) -> Link:
        """Writes the edit; with `expected_version` only if that is still the link's version.
        `own_hosts` as in `create`."""
        url = None
        if "original_url" in edit:
            url = urls.judge(edit["original_url"], await self._own_hosts.get(), own_hosts)
        for _ in range(EDIT_ATTEMPTS):
            link = await self.get(public_id, scope)
            if link.status is Status.BANNED:
                raise LinkBanned("This link was taken down and cannot be edited.")
            if link.status is Status.DELETED:
                raise LinkNotFound("This link is in the trash. Restore it first.")
            check_version(link, expected_version)
            now = self._clock.now()
            changes = changes_of(link, edit, url, now)
            if url is not None:
                changes |= {"held_at": self._screened(url.location, now)}
            edited = await self._store.update(link, changes, now, LinkAction("edit", account_id))
            if edited is not None:
                return edited
            await self._check_code_is_free(link, edit.get("custom_code"))
        raise LinkChanged(
            "Someone else has changed this link. Load it again, then repeat the edit."
        )

    async def delete(
        self,
        public_id: int,
        scope: Scope,
        *,
        expected_version: int | None = None,
        account_id: int | None = None,
    ) -> Link:
        """Moves the link to the trash."""
        for _ in range(EDIT_ATTEMPTS):
            link = await self.get(public_id, scope)
            if link.status is Status.DELETED:
                raise LinkNotFound("This link is already in the trash.")
            if link.status is Status.BANNED:
                raise LinkBanned("This link was taken down and cannot be deleted.")
            check_version(link, expected_version)
            now = self._clock.now()
            changes = {"status": Status.DELETED, "deleted_at": now}
            deleted = await self._store.update(link, changes, now, LinkAction("delete", account_id))
            if deleted is not None:
                return deleted
        raise LinkChanged("Someone else has changed this link. Load it again, then try again.")

    async def restore(
        self,
        public_id: int,
        scope: Scope,
        *,
        expires_at: datetime | None = None,
        expected_version: int | None = None,
        account_id: int | None = None,
    ) -> Link:
        """Restores an expired or deleted link; an expired one then lives until `expires_at`, or
        permanently. An active link is returned unchanged."""
        for _ in range(EDIT_ATTEMPTS):
            link = await self.get(public_id, scope)
            if link.status is Status.BANNED:
                raise LinkBanned("This link was taken down and cannot be restored.")
            check_version(link, expected_version)
            now = self._clock.now()
            if lifecycle.status(link, now) not in (Status.EXPIRED, Status.DELETED):
                if expires_at is not None:
                    raise InstantRefused(
                        "This link is active. Edit it to change when it expires.",
                        field="expires_at",
                    )
                return link
            changes = revival_of(link, expires_at, now)
            changes |= {"held_at": self._screened(link.location, now)}
            restored = await self._store.update(
                link, changes, now, LinkAction("restore", account_id)
            )
            if restored is not None:
                return restored
        raise LinkChanged("Someone else is changing this link. Try again.")

    def _screened(self, location: str, now: datetime) -> datetime | None:
        """Since when a link to this destination is held; None: it is not. `DestinationRefused`: no
        link may lead there."""
        return None if self._screen.admit(location) else now

    def public_id(self, link: Link) -> int:
        """The public id: it does not reveal how many links there are."""
        return self._ids.apply(link.id)

    def public_row_id(self, link_id: int) -> int:
        """The same, for a link that may be purged."""
        return self._ids.apply(link_id)

    def row_ids(self, public_ids: Iterable[int]) -> Sequence[int]:
        """The row numbers of public ids; values that are not ids are skipped."""
        found = []
        for public_id in public_ids:
            with suppress(ValueError):
                found.append(self._ids.invert(public_id))
        return found

    def status(self, link: Link) -> Status:
        return lifecycle.status(link, self._clock.now())

    async def _check_code_is_free(self, link: Link, code: str | None) -> None:
        if code is None or code == link.short_code:
            return
        if not await self._store.is_free(link, code, self._clock.now()):
            raise code_taken(code)

    def _row_id(self, public_id: int) -> int:
        try:
            return self._ids.invert(public_id)
        except ValueError:
            raise LinkNotFound("There is no link with this ID.") from None


def check_version(link: Link, expected: int | None) -> None:
    """Refuses the write if the link has changed since the caller read it."""
    if expected is not None and link.version != expected:
        raise VersionOutdated("Someone else has changed this link. Load it again, then try again.")


def hash_claim_token(token: str) -> bytes:
    return hashlib.sha256(token.encode(errors="surrogatepass")).digest()
