"""Lists the archive, and restores links."""

from collections.abc import AsyncIterator, Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from kurz.clock import Clock
from kurz.errors import KurzError
from kurz.links import lifecycle
from kurz.links.drafting import checked_end, revival_of
from kurz.links.ending.archives import (
    ArchivedLink,
    ArchiveFiles,
    ArchiveStore,
    FileState,
    Obstacle,
)
from kurz.links.errors import (
    ArchiveFileBroken,
    ArchiveFileForeign,
    ArchiveFileNotFound,
    DestinationRefused,
    LinkNotFound,
)
from kurz.links.model import Link, LinkType
from kurz.links.ports import NullScreen, Screen
from kurz.people.own_hosts import OwnHosts
from kurz.transfer.archive_format import ArchiveEntry, RefusedLine, day_of, decode_lines
from kurz.transfer.judging import judge
from kurz.transfer.signing import Signer

# Gets what is wrong with a file or a line that is skipped.
PassOver = Callable[[KurzError], None]


def _ignore(_: KurzError) -> None:
    """Ignores what was skipped."""


@dataclass(frozen=True, slots=True)
class ArchivedFile:
    """`links` is None for a file that the database does not know, for example after a backup was
    restored. `created_at` is then the day in its name."""

    name: str
    size: int
    links: int | None
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Restored:
    """The result of a line: the link as it is now, or why it was not restored; `detail` says what
    is wrong with an invalid one. `entry` is without its days, which may be large."""

    entry: ArchiveEntry
    result: Link | Obstacle
    detail: str | None = None


class Archive:
    """`installation` is this one's id: ids in files of another installation mean other links.
    `temporary_life` is the lifetime of links without an owner."""

    def __init__(
        self,
        store: ArchiveStore,
        files: ArchiveFiles,
        installation: str,
        signer: Signer,
        own_hosts: OwnHosts,
        clock: Clock,
        temporary_life: timedelta,
        screen: Screen | None = None,
    ) -> None:
        self._store = store
        self._files = files
        self._installation = installation
        self._signer = signer
        self._own_hosts = own_hosts
        self._clock = clock
        self._temporary_life = temporary_life
        self._screen = screen or NullScreen()

    async def list(
        self,
        code: str | None = None,
        *,
        is_foreign: bool = False,
        pass_over: PassOver = _ignore,
    ) -> list[ArchivedFile]:
        """The valid files, oldest first; only those with a link of that code. `pass_over` is called
        for each file that cannot be searched."""
        known = {entry.name: entry for entry in await self._store.files()}
        found = []
        for stored in await self._files.list():
            entry = known.get(stored.name)
            day = day_of(stored.name)
            if day is None or (entry and entry.state is not FileState.FINISHED):
                continue
            if code is not None:
                try:
                    if not await self._has(stored.name, code, is_foreign=is_foreign):
                        continue
                except (ArchiveFileBroken, ArchiveFileForeign) as error:
                    pass_over(error)
                    continue
            if entry is None:
                links, created_at = None, datetime(day.year, day.month, day.day, tzinfo=UTC)
            else:
                links, created_at = entry.links, entry.created_at
            found.append(ArchivedFile(stored.name, stored.size, links, created_at))
        return sorted(found, key=lambda file: (file.created_at, file.name))

    async def read(
        self, name: str, *, is_foreign: bool = False, pass_over: PassOver = _ignore
    ) -> Iterator[ArchiveEntry]:
        """The lines of a file, unpacked one at a time: `ArchiveFileBroken` may come at any of them.
        `ArchiveFileForeign`: this installation did not sign it. `is_foreign`: the operator knows
        that, and trusts the file. `pass_over` is called for each line that is too large."""
        return _decode(name, await self._read(name, is_foreign=is_foreign), pass_over)

    async def restore(
        self,
        name: str,
        codes: Collection[str] = (),
        expires_at: datetime | None = None,
        *,
        is_foreign: bool = False,
        own_hosts: Collection[str] = (),
        pass_over: PassOver = _ignore,
    ) -> AsyncIterator[Restored]:
        """Restores the links of a file, or those with one of the codes. An expired link then lives
        until `expires_at`, or permanently, or as long as any temporary link. Existing links are
        unchanged. The file is read to its end before the first link is restored. `own_hosts` as in
        `LinkService.create`. `pass_over` is called for each line that is too large, unless the
        links with all these codes are in others."""
        if expires_at is not None:
            checked_end(expires_at, self._clock.now())
        data = await self._read(name, is_foreign=is_foreign)
        versions = await self._store.last_versions(self._check(name, data, codes, pass_over))
        hosts = (await self._own_hosts.get(), own_hosts)
        for entry in _decode(name, data, _ignore):
            if not codes or entry.archived.link.short_code in codes:
                result = await self._put_back(entry.archived, expires_at, versions, hosts)
                shown = replace(entry, archived=replace(entry.archived, days=()))
                del entry  # before the next one is read
                yield Restored(shown, *result)

    def _check(
        self, name: str, data: bytes, codes: Collection[str], pass_over: PassOver
    ) -> Collection[int]:
        """The ids of the selected links, once the whole file is known to be valid."""
        missing, found = set(codes), []
        refused: list[KurzError] = []
        for entry in _decode(name, data, refused.append):
            link = entry.archived.link
            if codes and link.short_code not in codes:
                continue
            if entry.installation != self._installation:
                raise ArchiveFileBroken(
                    f"{name} is from another installation. Use `kurz import` to create new links."
                )
            missing.discard(link.short_code)
            found.append(link.id)
        if missing or not codes:
            for error in refused:
                pass_over(error)
        if missing:
            raise LinkNotFound(f"{name} has no link “{min(missing)}”.")
        return found

    async def _put_back(
        self,
        archived: ArchivedLink,
        expires_at: datetime | None,
        versions: Mapping[int, int],
        own_hosts: tuple[Collection[str], ...],
    ) -> tuple[Link | Obstacle, str | None]:
        now = self._clock.now()
        try:
            judged = judge(archived, own_hosts, now)
        except KurzError as error:
            return Obstacle.INVALID, error.detail
        try:
            revived = replace(judged, link=self._revive(judged.link, expires_at, now))
        except DestinationRefused:
            return Obstacle.REFUSED, None
        except KurzError as error:
            return Obstacle.INVALID, error.detail
        version = versions.get(judged.link.id, 0)
        return await self._store.put_back(revived, version, now), None

    def _revive(self, link: Link, expires_at: datetime | None, now: datetime) -> Link:
        is_temporary = link.link_type is LinkType.TEMPORARY
        if expires_at is None and is_temporary and lifecycle.is_expired(link, now):
            expires_at = now + self._temporary_life  # no owner: not permanent by default
        held_at = None if self._screen.admit(link.location) else now
        return replace(link, **revival_of(link, expires_at, now), held_at=held_at)

    async def _read(self, name: str, *, is_foreign: bool) -> bytes:
        data = await self._files.read(name) if day_of(name) else None
        if data is None:
            raise ArchiveFileNotFound(f"There is no file “{name}” in the archive.")
        if not is_foreign and not self._signer.is_signed(name, data):
            raise ArchiveFileForeign(
                f"{name} is not signed by this installation, or was changed afterwards. If you"
                " trust its source, add --foreign."
            )
        return data

    async def _has(self, name: str, code: str, *, is_foreign: bool) -> bool:
        refused: list[KurzError] = []
        entries = await self.read(name, is_foreign=is_foreign, pass_over=refused.append)
        if any(entry.archived.link.short_code == code for entry in entries):
            return True
        if refused:  # the link may be there
            raise refused[0]
        return False


def _decode(name: str, data: bytes, pass_over: PassOver) -> Iterator[ArchiveEntry]:
    try:
        for found in decode_lines(data):
            if isinstance(found, RefusedLine):
                pass_over(ArchiveFileBroken(f"{name}: {found.detail}"))
            else:
                yield found
            del found  # before the next one is read
    except ArchiveFileBroken as error:
        raise ArchiveFileBroken(f"{name}: {error.detail}") from None
