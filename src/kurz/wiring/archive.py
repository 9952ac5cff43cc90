"""The archive that the settings name, over the parts that `core` has opened."""

from datetime import timedelta
from pathlib import Path

from kurz.errors import SettingRefused
from kurz.links.ending.archives import ArchiveFiles, LinkArchiver
from kurz.people.own_hosts import OwnHosts
from kurz.settings.model import Settings
from kurz.storage.ending.archive import SqlArchiveStore
from kurz.transfer.archiving import Archiver
from kurz.transfer.restoring import Archive
from kurz.transfer.signing import Signer
from kurz.wiring.buckets import NEEDED, access_of, split
from kurz.wiring.core import Kurz


def open_archiver(kurz: Kurz) -> LinkArchiver | None:
    """None: there is no archive."""
    files = open_files(kurz.settings)
    if files is None:
        return None

    async def slugs() -> dict[int, str]:
        return {item.id: item.slug for item in await kurz.workspaces.list_all()}

    return Archiver(_store(kurz), files, slugs, kurz.shared.namespace, Signer(kurz.id_key))


def open_archive(kurz: Kurz) -> Archive:
    files = open_files(kurz.settings)
    if files is None:
        raise SettingRefused("No archive is configured. Set KURZ_ARCHIVE to a folder or bucket.")
    settings = kurz.settings
    return Archive(
        _store(kurz),
        files,
        kurz.shared.namespace,
        Signer(kurz.id_key),
        OwnHosts(settings.base_url, kurz.domains, settings.dashboard_url),
        kurz.clock,
        timedelta(hours=settings.temporary_link_hours),
        kurz.screen,
    )


def open_files(settings: Settings) -> ArchiveFiles | None:
    """None: there is no archive. It is not contacted yet. Raises `SettingRefused` for invalid
    settings."""
    place = settings.archive
    if place is None:
        return None
    if not place.startswith("s3://"):
        from kurz.outbound.folder import ArchiveFolder

        return ArchiveFolder(Path(place))
    try:
        from kurz.outbound.bucket import ArchiveBucket
    except ImportError:
        raise SettingRefused(
            f"KURZ_ARCHIVE is a bucket, which requires another package. {NEEDED}"
        ) from None
    return ArchiveBucket(*split(place), **access_of(settings, "archive"))


def _store(kurz: Kurz) -> SqlArchiveStore:
    return SqlArchiveStore(kurz.database, kurz.settings.code_quarantine)
