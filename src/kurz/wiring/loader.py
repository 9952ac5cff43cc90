"""What counts clicks, over the parts that `core` has opened."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from kurz.jobs.clicks.counting import ClickCounting
from kurz.jobs.clicks.journals import JournalFolder
from kurz.jobs.clicks.loader import Loader
from kurz.outbound.geo import open_countries
from kurz.storage.clicks.store import SqlClickStore
from kurz.storage.followers.click_count_copier import ClickCountCopier
from kurz.wiring.core import Kurz


@asynccontextmanager
async def open_loader(kurz: Kurz, journals: Sequence[Path] = ()) -> AsyncIterator[Loader]:
    """Counts the clicks of this instance and of the given folders, from the start of the loader on.
    At the end, the rest is counted. Raises `SettingRefused` for a folder of another
    installation."""
    folders = _find_folders(kurz, journals)
    kept_days = kurz.settings.click_event_days
    max_held_seconds = kurz.engine.max_held_seconds
    store = SqlClickStore(
        kurz.database, kurz.clock, kept_days=kept_days, max_held_seconds=max_held_seconds
    )
    copier = ClickCountCopier(kurz.database)
    countries = open_countries(kurz.settings.geoip_db, kurz.settings.data_dir)
    loader = Loader(
        folders,
        store,
        ClickCounting(countries),
        kurz.clock,
        copier=copier,
        # Otherwise, the interpreter would be busy preparing while SQLite's lock is held.
        prepares_ahead=max_held_seconds is None,
    )
    feed = kurz.shared.feed
    feed.subscribe(loader.owners)
    try:
        await feed.start()
        copier.start()
        yield loader
    finally:
        await loader.stop()
        await copier.stop()
        feed.unsubscribe(loader.owners)


def own_journals(kurz: Kurz) -> JournalFolder:
    """Those of this instance."""
    return JournalFolder(kurz.settings.journal_dir, kurz.shared.namespace, is_own=True)


def _find_folders(kurz: Kurz, journals: Sequence[Path]) -> list[JournalFolder]:
    """Folders that somebody names are checked now. If its own folder belongs to another
    installation, the loader logs that and continues."""
    own = own_journals(kurz)
    paths = dict.fromkeys(path.resolve() for path in journals)
    paths.pop(own.path.resolve(), None)
    others = [JournalFolder(path, kurz.shared.namespace, is_own=False) for path in paths]
    for folder in others:
        folder.check()
    return [own, *others]
