"""Deletes links in the trash permanently."""

import math
import time
from typing import NamedTuple

import structlog

from kurz.clock import Clock
from kurz.links.ending.ports import TrashStore
from kurz.links.errors import LinkBanned, LinkChanged, LinkNotFound
from kurz.links.inserting import EDIT_ATTEMPTS
from kurz.links.model import Scope, Status
from kurz.links.service import LinkService, check_version

_log = structlog.get_logger(__name__)

BATCH = 1000  # links, before it checks the time again


class Emptied(NamedTuple):
    """How many links were purged, and whether none was left."""

    purged: int
    is_empty: bool


class Trash:
    def __init__(
        self, links: LinkService, store: TrashStore, clock: Clock, *, batch: int = BATCH
    ) -> None:
        self._links = links
        self._store = store
        self._clock = clock
        self._batch = batch

    async def purge(
        self,
        public_id: int,
        scope: Scope,
        *,
        expected_version: int | None = None,
        account_id: int | None = None,
    ) -> None:
        """Deletes a link permanently, with its history and stats. Only from the trash, so that one
        mistake cannot lose a link. The log records who did it; no account: the operator, at the
        command line."""
        for _ in range(EDIT_ATTEMPTS):
            link = await self._links.get(public_id, scope)
            if link.status is Status.BANNED:
                raise LinkBanned("This link was taken down and cannot be deleted.")
            if link.status is not Status.DELETED:
                raise LinkNotFound("This link is not in the trash. Move it there first.")
            check_version(link, expected_version)
            if await self._store.purge(scope, link.id, link.version, self._clock.now()):
                if account_id is not None:
                    _log.info(
                        "link permanently deleted",
                        account_id=account_id,
                        link_id=public_id,
                        workspace_id=link.workspace_id,
                    )
                return
        raise LinkChanged("Someone else is changing this link. Try again.")

    async def empty(
        self, scope: Scope, seconds: float = math.inf, *, account_id: int | None = None
    ) -> Emptied:
        """Deletes all links in the trash of a scope permanently, the oldest first, until the time
        is up. It is logged as one action."""
        purged, until = 0, time.monotonic() + seconds
        try:
            while True:
                done = await self._store.empty(scope, self._clock.now(), self._batch)
                purged += done
                if done < self._batch:
                    return Emptied(purged, is_empty=True)
                if time.monotonic() >= until:
                    return Emptied(purged, is_empty=False)
        finally:  # also what was done before an outage
            if purged and account_id is not None:
                _log.info(
                    "trash emptied",
                    account_id=account_id,
                    links=purged,
                    workspace_id=scope.workspace_id,
                )
