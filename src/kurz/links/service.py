"""What may be done with links: create, read, list, edit, delete, restore."""

import hashlib
import secrets
from collections.abc import Collection
from datetime import datetime

from kurz.clock import Clock
from kurz.links import fields, lifecycle, urls
from kurz.links.codes import custom
from kurz.links.codes.permutation import Permutation
from kurz.links.drafting import Drafting, changes_of, revival_of
from kurz.links.errors import (
    CodesExhausted,
    CursorRefused,
    CustomCodeTaken,
    InstantRefused,
    LinkBanned,
    LinkChanged,
    LinkNotFound,
)
from kurz.links.minting import ATTEMPTS, Mint
from kurz.links.model import (
    Created,
    Draft,
    Edit,
    Filter,
    Link,
    LinkPage,
    Scope,
    Status,
    Strategy,
)
from kurz.links.ports import LinkStore
from kurz.people.own_hosts import OwnHosts

EDIT_ATTEMPTS = 25  # times a write starts over because somebody else wrote in between


class LinkService:
    def __init__(
        self,
        store: LinkStore,
        mint: Mint,
        drafting: Drafting,
        ids: Permutation,
        own_hosts: OwnHosts,
        clock: Clock,
    ) -> None:
        self._store = store
        self._mint = mint
        self._drafting = drafting
        self._ids = ids
        self._own_hosts = own_hosts
        self._clock = clock

    async def create(self, draft: Draft, *, own_hosts: Collection[str] = ()) -> Created:
        """A new link, or the existing one for a deterministic code. `own_hosts` adds the name that
        this request came in by, where no base URL is configured."""
        now = self._clock.now()
        strategy = self._mint.choose(draft.strategy, draft.custom_code, draft.workspace_id)
        url = urls.judge(draft.original_url, await self._own_hosts.get(), own_hosts)
        link = self._drafting.link(draft, strategy, url, now)
        if draft.is_anonymous:
            token = secrets.token_urlsafe(32)
            link = await self._insert(link, hash_claim_token(token))
            return Created(link, is_new=True, claim_token=token)
        if strategy is Strategy.DETERMINISTIC:
            return await self._insert_deterministic(link, now)
        return Created(await self._insert(link), is_new=True)

    async def get(self, public_id: int, scope: Scope) -> Link:
        link = await self._store.find(self._row_id(public_id), scope)
        if link is None:
            raise LinkNotFound("There is no link with this id.")
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
        """A page of links, newest first; `cursor` is the `next_cursor` of the page before."""
        if wanted.search is not None:
            fields.check_search(wanted.search)
        before_id = None if cursor is None else self._row_of_cursor(cursor)
        links, total = await self._store.list(
            scope, wanted, self._clock.now(), before_id=before_id, limit=limit + 1
        )
        page = links[:limit]
        more = len(links) > limit
        return LinkPage(tuple(page), total, str(self.public_id(page[-1])) if more else None)

    async def edit(
        self,
        public_id: int,
        scope: Scope,
        edit: Edit,
        *,
        expected_version: int | None = None,
        own_hosts: Collection[str] = (),
    ) -> Link:
        """Writes the edit; with `expected_version` only if nobody has written since. `own_hosts` as
        in `create`."""
        url = None
        if "original_url" in edit:
            url = urls.judge(edit["original_url"], await self._own_hosts.get(), own_hosts)
        for _ in range(EDIT_ATTEMPTS):
            link = await self.get(public_id, scope)
            if link.status is Status.BANNED:
                raise LinkBanned("This link was taken down and cannot be edited.")
            if link.status is Status.DELETED:
                raise LinkNotFound("This link is in the trash. Restore it first.")
            if expected_version is not None and link.version != expected_version:
                break
            now = self._clock.now()
            edited = await self._store.update(link, changes_of(link, edit, url, now), now)
            if edited is not None:
                return edited
            await self._check_code_is_free(link, edit.get("custom_code"))
        raise LinkChanged("Somebody else changed this link. Load it again, then repeat the edit.")

    async def delete(self, public_id: int, scope: Scope) -> Link:
        """Moves the link to the trash."""
        for _ in range(EDIT_ATTEMPTS):
            link = await self.get(public_id, scope)
            if link.status is Status.DELETED:
                raise LinkNotFound("This link is in the trash already.")
            if link.status is Status.BANNED:
                raise LinkBanned("This link was taken down; its record is kept.")
            now = self._clock.now()
            changes = {"status": Status.DELETED, "deleted_at": now}
            deleted = await self._store.update(link, changes, now)
            if deleted is not None:
                return deleted
        raise LinkChanged("Somebody else is changing this link. Try again.")

    async def restore(
        self, public_id: int, scope: Scope, *, expires_at: datetime | None = None
    ) -> Link:
        """Brings an expired or deleted link back; an expired one lives until `expires_at`, or for
        ever. A live link is returned as it is."""
        for _ in range(EDIT_ATTEMPTS):
            link = await self.get(public_id, scope)
            if link.status is Status.BANNED:
                raise LinkBanned("This link was taken down and cannot be restored.")
            now = self._clock.now()
            if lifecycle.status(link, now) not in (Status.EXPIRED, Status.DELETED):
                if expires_at is not None:
                    raise InstantRefused("This link is live. Edit it to change when it expires.")
                return link
            restored = await self._store.update(link, revival_of(link, expires_at, now), now)
            if restored is not None:
                return restored
        raise LinkChanged("Somebody else is changing this link. Try again.")

    def public_id(self, link: Link) -> int:
        """The id as the outside sees it: it tells nothing about how many links there are."""
        return self._ids.apply(link.id)

    def status(self, link: Link) -> Status:
        return lifecycle.status(link, self._clock.now())

    async def _insert(self, link: Link, claim_hash: bytes | None = None) -> Link:
        if link.strategy is Strategy.CUSTOM:
            if not await self._try(link, link.short_code, claim_hash):
                raise CustomCodeTaken(f"The code “{link.short_code}” is taken. Choose another one.")
            return link
        for attempt in range(ATTEMPTS[link.strategy]):
            if await self._try(link, await self._code(link, attempt), claim_hash):
                return link
        raise CodesExhausted("Every code that was tried is taken. Try again.")

    async def _insert_deterministic(self, link: Link, now: datetime) -> Created:
        for attempt in range(ATTEMPTS[link.strategy]):
            if await self._try(link, await self._code(link, attempt)):
                return Created(link, is_new=True)
            existing = await self._store.find_deterministic(link.workspace_id, link.canonical_url)
            if existing is not None:
                return await self._reuse(existing, link, now)
        raise CodesExhausted("Every code this URL could have is taken by another link.")

    async def _try(self, link: Link, code: str, claim_hash: bytes | None = None) -> bool:
        """Stores the new link under this code, if it is free."""
        link.short_code = code
        link_id = await self._store.insert(link, claim_hash)
        if link_id is not None:
            link.id = link_id
        return link_id is not None

    async def _code(self, link: Link, attempt: int) -> str:
        return await self._mint.code(link.strategy, link.canonical_url, link.workspace_id, attempt)

    async def _reuse(self, existing: Link, wanted: Link, now: datetime) -> Created:
        """The existing link, unchanged while it lives; an expired or deleted one comes back under
        its code with the fields of this request, its counts kept."""
        for _ in range(EDIT_ATTEMPTS):
            status = lifecycle.status(existing, now)
            if status is Status.BANNED:
                raise LinkBanned("This URL's link was taken down.")
            if status not in (Status.EXPIRED, Status.DELETED):
                return Created(existing, is_new=False)
            changes = {name: getattr(wanted, name) for name in _FIELDS_OF_A_REQUEST}
            changes |= {"status": Status.ACTIVE, "deleted_at": None, "clicks_used": 0}
            revived = await self._store.update(existing, changes, now)
            if revived is not None:
                return Created(revived, is_new=True)
            found = await self._store.find_deterministic(wanted.workspace_id, wanted.canonical_url)
            if found is None:
                break
            existing = found
        raise LinkChanged("Somebody else is changing this link. Try again.")

    async def _check_code_is_free(self, link: Link, code: str | None) -> None:
        if code is None or code == link.short_code:
            return
        holder = await self._store.find_by_code(link.workspace_id, code)
        if holder is not None and holder.id != link.id:
            raise CustomCodeTaken(f"The code “{code}” is taken. Choose another one.")

    def _row_id(self, public_id: int) -> int:
        try:
            return self._ids.invert(public_id)
        except ValueError:
            raise LinkNotFound("There is no link with this id.") from None

    def _row_of_cursor(self, cursor: str) -> int:
        try:
            return self._ids.invert(int(cursor))
        except ValueError:
            raise CursorRefused("Use the `next_cursor` of the page before, unchanged.") from None


_FIELDS_OF_A_REQUEST = (
    "original_url",
    "location",
    "starts_at",
    "expires_at",
    "redirect_status",
    "title",
    "tags",
    "notes",
    "forward_query",
    "max_clicks",
)


def hash_claim_token(token: str) -> bytes:
    return hashlib.sha256(token.encode()).digest()
