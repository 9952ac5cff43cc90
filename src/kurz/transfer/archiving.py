"""Moves links into the archive. If a process is killed between any two steps, no link is lost, and
none is in two valid files (`docs/adr/0017-archive.md`)."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

import structlog

from kurz.errors import KurzError
from kurz.links.ending.archives import (
    ArchivedLink,
    ArchiveFiles,
    ArchiveState,
    ArchiveStore,
    BatchDone,
    FileState,
)
from kurz.links.ending.retention import EndedKind
from kurz.links.errors import ArchiveFileBroken, ArchiveUnavailable
from kurz.transfer.archive_format import Encoded, decode, encode_sound, new_name
from kurz.transfer.judging import judge
from kurz.transfer.signing import Signer

# For this long, a process that was suspended may still resume and write a file that was given up.
REMEMBERED = timedelta(days=30)

_log = structlog.get_logger(__name__)

Slugs = Callable[[], Awaitable[Mapping[int, str]]]


class Archiver:
    """The `LinkArchiver` over any store and any place for files. `slugs` names the workspaces by
    their ids; `installation` distinguishes this one's links from others'."""

    def __init__(
        self,
        store: ArchiveStore,
        files: ArchiveFiles,
        slugs: Slugs,
        installation: str,
        signer: Signer,
    ) -> None:
        self._store = store
        self._files = files
        self._slugs = slugs
        self._installation = installation
        self._signer = signer
        self._unfit: set[int] = set()  # logged once; tried again after the next start

    async def run(self, ended: EndedKind, before: datetime, now: datetime, limit: int) -> BatchDone:
        """Finishes first what another process began. Links that must not be kept are only
        purged."""
        purged = await self._finish_begun_files(now)
        purged += await self._store.purge_ownerless(ended, before, now, limit)
        found = await self._next_file(ended, before, now, limit)
        if found is None:
            await self._tidy(now)
            return BatchDone(purged, is_more=purged > 0)
        links, name = found.links, new_name(now)
        data = await asyncio.to_thread(self._signer.pack, name, found.data)
        await self._store.begin_file(name, len(links), now)
        await self._files.write(name, data)
        if await self._files.read(name) != data:
            raise ArchiveUnavailable(f"{name} in the archive differs from what was written.")
        purged += await self._finish(name, [item.state for item in links], now)
        return BatchDone(purged, is_more=True)

    async def _next_file(
        self, ended: EndedKind, before: datetime, now: datetime, limit: int
    ) -> Encoded | None:
        """Writes a file without links that could not be restored from it: they stay. None: there is
        none left."""
        while True:
            found = await self._store.collect(ended, before, limit, self._unfit)
            if not found:
                return None
            slugs = await self._slugs()
            encoded = await asyncio.to_thread(_encode, found, slugs, self._installation, now)
            for link_id in sorted(encoded.unfit):
                _log.error("link cannot be archived; it stays in the trash", link_id=link_id)
            self._unfit |= encoded.unfit
            if encoded.links:
                return encoded

    async def _finish_begun_files(self, now: datetime) -> int:
        """Handles files that were begun: a complete one is finished, any other is given up."""
        purged = 0
        for entry in await self._store.files(FileState.BEGUN):
            states = await self._read_states(entry.name)
            if states is not None and len(states) == entry.links:
                purged += await self._finish(entry.name, states, now)
            elif await self._store.give_up_file(entry.name, now):
                await self._files.remove(entry.name)
        return purged

    async def _finish(self, name: str, states: Sequence[ArchiveState], now: datetime) -> int:
        purged = await self._store.finish_file(name, states, now)
        if purged is None:
            await self._files.remove(name)
            return 0
        _log.info("links archived", file=name, links=purged)
        return purged

    async def _read_states(self, name: str) -> Sequence[ArchiveState] | None:
        """None: it is missing, incomplete or not from this installation. A file from somebody else
        must not cause a purge."""
        try:
            data = await self._files.read(name)
            if data is None or not self._signer.is_signed(name, data):
                return None
            return await asyncio.to_thread(_states, data)
        except ArchiveFileBroken:
            return None

    async def _tidy(self, now: datetime) -> None:
        """Removes files that a process wrote after they were given up, before it died."""
        for entry in await self._store.files(FileState.GIVEN_UP):
            await self._files.remove(entry.name)
        await self._store.forget_files(now - REMEMBERED)


def _encode(
    links: Sequence[ArchivedLink], slugs: Mapping[int, str], installation: str, now: datetime
) -> Encoded:
    restorable = [item for item in links if _is_restorable(item, now)]
    encoded = encode_sound(restorable, slugs, installation, now)
    refused = {item.link.id for item in links} - {item.link.id for item in restorable}
    return replace(encoded, unfit=encoded.unfit | refused)


def _is_restorable(item: ArchivedLink, now: datetime) -> bool:
    """By the rules of a restore, apart from hosts and lists, which change."""
    try:
        judge(item, (), now)
    except KurzError:
        return False
    return True


def _states(data: bytes) -> list[ArchiveState]:
    return [entry.archived.state for entry in decode(data)]
