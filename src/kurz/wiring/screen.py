"""The screen of links from the settings: the lists that destinations are screened by."""

import asyncio

from kurz.safety.hosts import BannedHosts
from kurz.safety.list_provider import ListProvider
from kurz.safety.lists_file import ListRole, Source, Sources
from kurz.safety.screening import ListScreen
from kurz.settings.model import Settings


def sources_of(settings: Settings) -> Sources:
    return Sources(
        (
            *(Source(ListRole.BLOCK, path) for path in settings.blocklists),
            *(Source(ListRole.ALLOW, path) for path in settings.allowlists),
        ),
        has_shorteners=settings.other_shorteners == "refuse",
    )


def open_list_provider(settings: Settings) -> ListProvider:
    return ListProvider(sources_of(settings), settings.screening_dir)


def open_screen(settings: Settings, banned: BannedHosts) -> ListScreen:
    """No list is read before it is asked."""
    return ListScreen(open_list_provider(settings), banned)


async def refresh_screen(screen: ListScreen, banned: BannedHosts) -> None:
    """For long work in a process without a feed: the current lists and bans."""
    await banned.refresh(is_feed_stale=True)
    await asyncio.to_thread(screen.provider.refresh)
