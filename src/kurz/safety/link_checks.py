"""Checks as the owners of links see them."""

from collections.abc import Sequence
from datetime import datetime

from kurz.clock import Clock
from kurz.links import lifecycle
from kurz.links.model import Link, LinkType, Scope, Status
from kurz.links.service import LinkService
from kurz.safety.checks import JOB, Check, ChecksOff, CheckStore, LinkNotChecked
from kurz.scheduling import LeaseStore


class LinkChecks:
    def __init__(
        self,
        links: LinkService,
        store: CheckStore,
        leases: LeaseStore,
        clock: Clock,
        *,
        is_on: bool,
    ) -> None:
        self._links = links
        self._store = store
        self._leases = leases
        self._clock = clock
        self._is_on = is_on

    async def ask(self, public_id: int, scope: Scope) -> tuple[Link, datetime]:
        """Requests a check of the destination as soon as its site may be called; returns the time
        of the request."""
        if not self._is_on:
            raise ChecksOff(
                "Destination checks are off on this server. Ask the operator to set"
                " KURZ_DESTINATION_CHECKS=on."
            )
        link, now = await self._links.get(public_id, scope), self._clock.now()
        is_active = lifecycle.status(link, now) is Status.ACTIVE
        if not is_active or link.held_at or link.link_type is LinkType.TEMPORARY:
            raise LinkNotChecked("Only destinations of active, permanent links are checked.")
        if not await self._store.ask(link.id, now):
            raise LinkNotChecked("This link was changed in the meantime. Try again.")
        await self._leases.ask(JOB)  # a current run finds it by itself
        return link, now

    async def last(self, public_id: int, scope: Scope) -> tuple[Link, Sequence[Check]]:
        """The link and what its destination's checks found since it leads there, newest first."""
        link = await self._links.get(public_id, scope)
        return link, await self._store.last_checks(link.id)
