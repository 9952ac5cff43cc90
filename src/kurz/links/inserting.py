"""Stores a new link under the first free code, or finds the link that already has it."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from kurz.links import lifecycle
from kurz.links.code_generator import ATTEMPTS, CodeGenerator
from kurz.links.errors import CodesExhausted, LinkBanned, LinkChanged, code_taken
from kurz.links.model import ROOT_WORKSPACE_ID, Created, Link, LinkAction, Status, Strategy
from kurz.links.ports import LinkStore
from kurz.people.quotas import Allowance
from kurz.people.receipts import Receipt

EDIT_ATTEMPTS = 25  # times a write starts over because another write came first

# What a restored link takes from the request.
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
    "held_at",
)


@dataclass(slots=True)
class NewLink:
    """A link to be stored, and what is stored with it."""

    link: Link
    claim_token: str | None
    claim_hash: bytes | None
    allowances: tuple[Allowance, ...]
    receipt: Receipt | None = None

    def created(self, link_id: int) -> Created:
        self.link.id = link_id
        return Created(self.link, is_new=True, claim_token=self.claim_token)


class Inserter:
    def __init__(self, store: LinkStore, code_generator: CodeGenerator) -> None:
        self._store = store
        self._code_generator = code_generator

    async def insert(self, new: NewLink, now: datetime) -> Created:
        if new.link.strategy is Strategy.CUSTOM:
            return await self._insert_custom(new, now)
        if new.link.strategy is Strategy.DETERMINISTIC:
            return await self._insert_deterministic(new, now)
        for attempt in range(ATTEMPTS[new.link.strategy]):
            if await self._try(new, await self._code(new.link, attempt)):
                return new.created(new.link.id)
        raise CodesExhausted("All codes that were tried are taken. Try again.")

    async def insert_many(
        self, links: Sequence[Link], allowances: tuple[Allowance, ...]
    ) -> list[Created | None]:
        """Stores each link that can have the first code it tries. None: use `insert` for it."""
        for link in links:
            if link.strategy is not Strategy.CUSTOM:
                link.short_code = await self._code(link, 0)
        stored = await self._store.insert_many(links, allowances)
        return [
            None if link_id is None else NewLink(link, None, None, allowances).created(link_id)
            for link, link_id in zip(links, stored, strict=True)
        ]

    async def _insert_custom(self, new: NewLink, now: datetime) -> Created:
        """The code belongs to one URL: the same pair again gives the same link, so that a script
        can run twice."""
        wanted = new.link
        if await self._try(new, wanted.short_code):
            return new.created(wanted.id)

        async def find() -> Link | None:
            found = await self._store.find_by_code(wanted.workspace_id, wanted.short_code)
            return found if found is not None and _is_same(found, wanted) else None

        existing = await find()
        if existing is None or existing.status is Status.BANNED:
            raise code_taken(wanted.short_code)
        return await self._reuse(existing, new, now, find)

    async def _insert_deterministic(self, new: NewLink, now: datetime) -> Created:
        link = new.link

        async def find() -> Link | None:
            return await self._store.find_deterministic(link.workspace_id, link.canonical_url)

        for attempt in range(ATTEMPTS[link.strategy]):
            if await self._try(new, await self._code(link, attempt)):
                return new.created(link.id)
            existing = await find()
            if existing is not None:
                return await self._reuse(existing, new, now, find)
        raise CodesExhausted(
            "All codes that this URL could have are taken by other links. Use a custom code."
        )

    async def _try(self, new: NewLink, code: str) -> bool:
        """Stores the new link under this code, if it is free."""
        new.link.short_code = code
        receipt = new.receipt and new.receipt.after(new.created)
        link_id = await self._store.insert(
            new.link, new.claim_hash, allowances=new.allowances, receipt=receipt
        )
        if link_id is not None:
            new.link.id = link_id
        return link_id is not None

    async def _code(self, link: Link, attempt: int) -> str:
        return await self._code_generator.code(
            link.strategy, link.canonical_url, link.workspace_id, attempt
        )

    async def _reuse(
        self,
        existing: Link,
        new: NewLink,
        now: datetime,
        find: Callable[[], Awaitable[Link | None]],
    ) -> Created:
        """Returns the existing link unchanged while it is active. An expired or deleted one is
        restored under its code, with the fields of this request and its old counts. `find` reads it
        again."""
        wanted = new.link
        receipt = new.receipt and new.receipt.after(lambda link: Created(link, is_new=True))
        for _ in range(EDIT_ATTEMPTS):
            status = lifecycle.status(existing, now)
            if status is Status.BANNED:
                raise LinkBanned("The link for this URL was taken down.")
            if status not in (Status.EXPIRED, Status.DELETED):
                return Created(existing, is_new=False)
            changes = {name: getattr(wanted, name) for name in _FIELDS_OF_A_REQUEST}
            changes |= {"status": Status.ACTIVE, "deleted_at": None, "swept_at": None}
            changes["clicks_used"] = 0
            revived = await self._store.update(
                existing, changes, now, LinkAction("revive", wanted.owner_id), receipt=receipt
            )
            if revived is not None:
                return Created(revived, is_new=True)
            found = await find()
            if found is None:
                break
            existing = found
        raise LinkChanged("Someone else is changing this link. Try again.")


def _is_same(found: Link, wanted: Link) -> bool:
    """At the root, the link must be the caller's own. The operator's links have no owner there,
    like anonymous links, but those are temporary."""
    is_ours = wanted.workspace_id != ROOT_WORKSPACE_ID or (
        (found.owner_id, found.link_type) == (wanted.owner_id, wanted.link_type)
    )
    return is_ours and found.canonical_url == wanted.canonical_url
