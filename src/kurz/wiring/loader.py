"""What counts clicks, over the parts that `bootstrap` has opened."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from kurz.bootstrap import Kurz
from kurz.jobs.counting import ClickCounting
from kurz.jobs.journals import JournalFolder
from kurz.jobs.loader import Loader
from kurz.outbound.geo import open_countries
from kurz.sharing import namespace_of
from kurz.storage.clicks import SqlClickStore
from kurz.storage.copier import ClickCopier
from kurz.storage.installation import keep_key

# Of a batch on SQLite, where nobody else can write meanwhile: half of what a write may take.
MAX_HELD_SECONDS = 0.025


@asynccontextmanager
async def open_loader(kurz: Kurz, journals: Sequence[Path] = ()) -> AsyncIterator[Loader]:
    """Counts the clicks of this instance, and those in the folders named: from the start of the
    loader on. At the end, what is left is counted. Raises `SettingRefused` for a folder of another
    installation."""
    folders = await _find_folders(kurz, journals)
    kept_days = kurz.settings.click_event_days
    store = SqlClickStore(kurz.database, kurz.clock, kept_days=kept_days)
    copier = ClickCopier(kurz.database)
    countries = open_countries(kurz.settings.geoip_db, kurz.settings.data_dir)
    loader = Loader(
        folders,
        store,
        ClickCounting(countries),
        kurz.clock,
        on_counted=copier.note,
        copies_waiting=lambda: copier.waiting,
        max_held_seconds=MAX_HELD_SECONDS if kurz.settings.is_embedded else None,
    )
    feed = kurz.shared.feed
    feed.subscribe(loader.homes)
    try:
        await feed.start()
        copier.start()
        yield loader
    finally:
        await loader.stop()
        await copier.stop()
        feed.unsubscribe(loader.homes)


async def own_journals(kurz: Kurz) -> JournalFolder:
    """Those of this instance."""
    return JournalFolder(kurz.settings.journal_dir, await _installation(kurz), is_own=True)


async def _find_folders(kurz: Kurz, journals: Sequence[Path]) -> list[JournalFolder]:
    """Those that somebody names are looked at now. Of its own the loader tells if they are another
    installation's by mistake, and goes on."""
    own = await own_journals(kurz)
    paths = dict.fromkeys(path.resolve() for path in journals)
    paths.pop(own.path.resolve(), None)
    installation = await _installation(kurz)
    others = [JournalFolder(path, installation, is_own=False) for path in paths]
    for folder in others:
        folder.check()
    return [own, *others]


async def _installation(kurz: Kurz) -> str:
    return namespace_of(await keep_key(kurz.database, "id-key"))
