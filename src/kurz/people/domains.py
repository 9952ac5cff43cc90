"""The verified custom domains, at hand."""

import asyncio
import time
from collections.abc import Mapping

from kurz.errors import StoreUnavailable
from kurz.people.workspaces import Site, SiteStore

FRESH_SECONDS = 1.0  # how long a new or removed domain may go unnoticed


class Domains:
    """All of them at once, asked for at most once a second: what host a stranger names costs no
    query. While the store is out, the last answer stands; `is_current` is for those who would
    remember it for longer."""

    def __init__(self, workspaces: SiteStore) -> None:
        self._workspaces = workspaces
        self._sites: Mapping[str, Site] | None = None
        self._asked_at = 0.0  # for the answer at hand
        self._failures = 0
        self._asking = asyncio.Lock()
        self._forgotten = 0  # times
        self.is_current = False  # what is at hand was asked for after it was last forgotten

    async def sites(self) -> Mapping[str, Site]:
        """The site of every verified domain, lower case."""
        if self._sites is not None and self._is_fresh():
            return self._sites
        failures = self._failures
        async with self._asking:
            if self._sites is not None and self._is_fresh():
                return self._sites
            if failures != self._failures:
                return self._last()  # else those who have waited would wait again, one by one
            forgotten = self._forgotten
            asked_at = time.monotonic()
            try:
                self._sites = await self._workspaces.verified_sites()
                self.is_current = forgotten == self._forgotten
            except StoreUnavailable:
                self._failures += 1
                asked_at = time.monotonic()  # an outage may have taken longer than a second to tell
            # Not before: until now the answer at hand was an older one.
            if forgotten == self._forgotten:
                self._asked_at = asked_at
            return self._last()

    def forget(self) -> None:
        """Asks again at the next chance: a domain was added or removed."""
        self._asked_at = 0.0
        self._forgotten += 1
        self.is_current = False

    async def host_of(self, workspace_id: int) -> str | None:
        """The domain that a workspace's short URLs are shown with: its first by name."""
        sites = await self.sites()
        if not sites:
            return None
        hosts = [host for host, site in sites.items() if site.workspace_id == workspace_id]
        return min(hosts, default=None)

    def _last(self) -> Mapping[str, Site]:
        if self._sites is None:
            raise StoreUnavailable("The database cannot be reached at the moment.")
        return self._sites

    def _is_fresh(self) -> bool:
        return time.monotonic() - self._asked_at < FRESH_SECONDS
