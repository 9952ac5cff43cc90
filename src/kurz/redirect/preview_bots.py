"""Requests that do not follow a link: HEAD, prefetches, link previews, and known bots."""

import asyncio
from collections.abc import Callable

from kurz.clicks.crawlers import Crawlers
from kurz.clicks.previews import Previews
from kurz.clicks.trimming import MAX_USER_AGENT_BYTES

Header = Callable[[bytes], bytes | None]


def is_prefetch(header: Header) -> bool:
    """Whether a browser prefetches, or fetches a preview: the result may never be shown."""
    # The header names that browsers have used, the newest first.
    purpose = header(b"sec-purpose") or header(b"purpose") or header(b"x-purpose")
    purpose = purpose or header(b"x-moz")
    if not purpose:
        return False
    return b"prefetch" in purpose.lower() or b"preview" in purpose.lower()


class _Programs:
    """Clients whose visits are counted as previews or bots."""

    def __init__(self) -> None:
        self._previews = Previews()
        self._crawlers = Crawlers()

    def include(self, agent: str) -> bool:
        return self._previews.find(agent) is not None or self._crawlers.find(agent) is not None


class PreviewBots:
    """The lists of programs are loaded when first needed, once for all who wait, outside the event
    loop. That takes 0.1 to 0.4 s, and most workers never see a limited link."""

    def __init__(self) -> None:
        self._loading: asyncio.Task[_Programs] | None = None

    async def include(self, method: str, header: Header) -> bool:
        if method == "HEAD" or is_prefetch(header):
            return True
        agent = (header(b"user-agent") or b"")[:MAX_USER_AGENT_BYTES].decode(errors="replace")
        agent = agent.strip()
        if not agent:
            return True
        if self._loading is None:
            self._loading = asyncio.create_task(asyncio.to_thread(_Programs))
        if not self._loading.done():
            await asyncio.wait((self._loading,))  # which continues if the visitor leaves
        return self._loading.result().include(agent)
