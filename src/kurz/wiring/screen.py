"""What guards the links, as settings say: the lists that destinations are screened by."""

import asyncio

from kurz.safety.hosts import BannedHosts
from kurz.safety.list_shelf import ListShelf
from kurz.safety.lists_file import Role, Source, Sources
from kurz.safety.screening import ListScreen
from kurz.settings import Settings


def sources_of(settings: Settings) -> Sources:
    return Sources(
        (
            *(Source(Role.BLOCK, path) for path in settings.blocklists),
            *(Source(Role.ALLOW, path) for path in settings.allowlists),
        ),
        has_shorteners=settings.other_shorteners == "refuse",
    )


def open_shelf(settings: Settings) -> ListShelf:
    return ListShelf(sources_of(settings), settings.screening_dir)


def open_screen(settings: Settings, banned: BannedHosts) -> ListScreen:
    """No list is read before it is asked."""
    return ListScreen(open_shelf(settings), banned)


async def refresh_screen(screen: ListScreen, banned: BannedHosts) -> None:
    """For what takes long, in a process that hears of nothing: the lists and bans of now."""
    await banned.refresh(is_feed_stale=True)
    await asyncio.to_thread(screen.shelf.refresh)
