"""Looks into the archive, and puts links back."""

import asyncio
from collections.abc import AsyncIterator, Collection, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from kurz.clock import Clock
from kurz.links import lifecycle
from kurz.links.archives import ArchiveFiles, ArchiveStore, FileState, Obstacle
from kurz.links.drafting import revival_of
from kurz.links.errors import (
    ArchiveFileBroken,
    ArchiveFileNotFound,
    DestinationRefused,
    LinkNotFound,
)
from kurz.links.model import Link, LinkType
from kurz.links.ports import NullScreen, Screen
from kurz.transfer.archive_format import Entry, day_of, decode


@dataclass(frozen=True, slots=True)
class ArchivedFile:
    """`links` is None for a file that the database does not know, as after a backup was put back.
    `created_at` is then the day in its name."""

    name: str
    size: int
    links: int | None
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Restored:
    """What became of a line: the link as it is now, or why it is not there."""

    entry: Entry
    result: Link | Obstacle


class Archive:
    """`installation` is this one's: the ids in files of another one are other links'.
    `temporary_life` is how long links of nobody live."""

    def __init__(
        self,
        store: ArchiveStore,
        files: ArchiveFiles,
        installation: str,
        clock: Clock,
        temporary_life: timedelta,
        screen: Screen | None = None,
    ) -> None:
        self._store = store
        self._files = files
        self._installation = installation
        self._clock = clock
        self._temporary_life = temporary_life
        self._screen = screen or NullScreen()

    async def list(self, code: str | None = None) -> list[ArchivedFile]:
        """The files that count, oldest first; only those with a link of that code."""
        known = {entry.name: entry for entry in await self._store.files()}
        found = []
        for stored in await self._files.list():
            entry = known.get(stored.name)
            day = day_of(stored.name)
            if day is None or (entry and entry.state is not FileState.FINISHED):
                continue
            if code is not None and not await self._has(stored.name, code):
                continue
            if entry is None:
                links, created_at = None, datetime(day.year, day.month, day.day, tzinfo=UTC)
            else:
                links, created_at = entry.links, entry.created_at
            found.append(ArchivedFile(stored.name, stored.size, links, created_at))
        return sorted(found, key=lambda file: (file.created_at, file.name))

    async def read(self, name: str) -> Sequence[Entry]:
        data = await self._files.read(name) if day_of(name) else None
        if data is None:
            raise ArchiveFileNotFound(f"There is no file “{name}” in the archive.")
        try:
            return await asyncio.to_thread(decode, data)
        except ArchiveFileBroken as error:
            raise ArchiveFileBroken(f"{name}: {error.detail}") from None

    async def restore(
        self, name: str, codes: Collection[str] = (), expires_at: datetime | None = None
    ) -> AsyncIterator[Restored]:
        """Puts the links of a file back, or those with one of the codes; what has expired lives
        until `expires_at`, else for ever, or as long as any temporary link. What is there already
        stays as it is."""
        entries = [
            entry
            for entry in await self.read(name)
            if not codes or entry.archived.link.short_code in codes
        ]
        missing = sorted(set(codes) - {entry.archived.link.short_code for entry in entries})
        if missing:
            raise LinkNotFound(f"{name} has no link “{missing[0]}”.")
        if any(entry.installation != self._installation for entry in entries):
            raise ArchiveFileBroken(
                f"{name} is of another installation: `kurz import` makes new links of it."
            )
        versions = await self._store.last_versions([it.archived.link.id for it in entries])
        for entry in entries:
            now = self._clock.now()
            link = entry.archived.link
            try:
                revived = replace(entry.archived, link=self._revive(link, expires_at, now))
            except DestinationRefused:
                yield Restored(entry, Obstacle.REFUSED)
                continue
            result = await self._store.put_back(revived, versions.get(link.id, 0), now)
            yield Restored(entry, result)

    def _revive(self, link: Link, expires_at: datetime | None, now: datetime) -> Link:
        is_temporary = link.link_type is LinkType.TEMPORARY
        if expires_at is None and is_temporary and lifecycle.is_expired(link, now):
            expires_at = now + self._temporary_life  # nobody's is not for ever unless somebody says
        held_at = None if self._screen.admit(link.location) else now
        return replace(link, **revival_of(link, expires_at, now), held_at=held_at)

    async def _has(self, name: str, code: str) -> bool:
        return any(entry.archived.link.short_code == code for entry in await self.read(name))
