"""The space and the tags of links, cached for a while."""

import time
from collections.abc import Collection, Mapping, Sequence

from kurz.clicks.batch import LinkOwner
from kurz.clicks.ports import ClickStore
from kurz.freshness.ports import FeedListener
from kurz.freshness.routes import Change

MAX_LINKS = 200_000  # about 50 MB
MAX_SECONDS = 60.0  # limit for changes that are not in the change log, if there are any


class LinkOwners(FeedListener):
    """A listener of the feed: a changed link is looked up again. Links that the store does not have
    are not cached. `get` is called by one task at a time."""

    def __init__(
        self, store: ClickStore, *, max_links: int = MAX_LINKS, max_seconds: float = MAX_SECONDS
    ) -> None:
        self._store = store
        self._max_links = max_links
        self._max_seconds = max_seconds
        # Two halves: the older one is forgotten as a whole.
        self._young: dict[int, LinkOwner] = {}
        self._old: dict[int, LinkOwner] = {}
        self._born_at = time.monotonic()
        self._asked: set[int] = set()  # the store is being asked for them, and nothing has changed

    async def get(self, link_ids: Collection[int]) -> Mapping[int, LinkOwner]:
        """The owners of those links that exist."""
        self._age()
        young, old = self._young, self._old
        found = {id_: home for id_ in link_ids if (home := young.get(id_) or old.get(id_))}
        missing = [id_ for id_ in link_ids if id_ not in found]
        if missing:
            self._asked = set(missing)
            fetched = await self._store.owners(missing)
            self._young |= {id_: fetched[id_] for id_ in fetched.keys() & self._asked}
            self._asked.clear()
            found |= fetched
        return found

    def on_changes(self, changes: Sequence[tuple[int, Change]]) -> None:
        for _, change in changes:
            self._young.pop(change.link_id, None)
            self._old.pop(change.link_id, None)
            self._asked.discard(change.link_id)

    def reset(self, position: int) -> None:  # noqa: ARG002  nothing here has one
        self._young, self._old = {}, {}
        self._asked.clear()

    def _age(self) -> None:
        now = time.monotonic()
        age = now - self._born_at
        if age >= self._max_seconds:
            self._young = {}
        if age >= self._max_seconds / 2 or len(self._young) >= self._max_links // 2:
            self._old, self._young = self._young, {}
            self._born_at = now
