"""The verified custom domains, cached."""

import asyncio
import time
from collections.abc import Mapping

from kurz.errors import StoreUnavailable
from kurz.people.workspaces import Site, SiteStore, Workspace

FRESH_SECONDS = 1.0  # how late a new or removed domain may be noticed


class Domains:
    """Reads all of them at most once a second: a host that a stranger sends costs no query. While
    the store is down, the last answer is used; `is_current` is for callers that would cache it for
    longer."""

    def __init__(self, workspaces: SiteStore) -> None:
        self._workspaces = workspaces
        self._sites: Mapping[str, Site] | None = None
        self._read_at = 0.0  # of the cached answer
        self._failures = 0
        self._asking = asyncio.Lock()
        self._forgotten = 0  # times
        self.is_current = False  # the cached answer is newer than the last `forget`

    async def sites(self) -> Mapping[str, Site]:
        """The site of every verified domain, lower case."""
        if self._sites is not None and self._is_fresh():
            return self._sites
        failures = self._failures
        async with self._asking:
            if self._sites is not None and self._is_fresh():
                return self._sites
            if failures != self._failures:
                return self._last()  # otherwise those who have waited would wait again, one by one
            forgotten = self._forgotten
            read_at = time.monotonic()
            try:
                self._sites = await self._workspaces.verified_sites()
                self.is_current = forgotten == self._forgotten
            except StoreUnavailable:
                self._failures += 1
                read_at = time.monotonic()  # an outage may take longer than a second to be noticed
            # Not earlier: until now the cached answer was an older one.
            if forgotten == self._forgotten:
                self._read_at = read_at
            return self._last()

    def forget(self) -> None:
        """Reads again at the next call: a domain was added or removed."""
        self._read_at = 0.0
        self._forgotten += 1
        self.is_current = False

    async def host_of(self, workspace_id: int) -> str | None:
        """The domain in the short URLs of a workspace: its first by name."""
        sites = await self.sites()
        if not sites:
            return None
        hosts = [host for host, site in sites.items() if site.workspace_id == workspace_id]
        return min(hosts, default=None)

    async def prefix(
        self, origin: str, workspace: Workspace | None, root_workspace_id: int | None
    ) -> str:
        """The part of a short URL before the code. A workspace's own domain is used, if it has one;
        links of no workspace, and of the one at the root, are directly under the origin."""
        if workspace is None or workspace.id == root_workspace_id:
            return f"{origin}/"
        host = await self.host_of(workspace.id)
        if host is not None:
            return f"{origin.partition(':')[0]}://{host}/"
        return f"{origin}/@{workspace.slug}/"

    def _last(self) -> Mapping[str, Site]:
        if self._sites is None:
            raise StoreUnavailable("The database cannot be reached at the moment.")
        return self._sites

    def _is_fresh(self) -> bool:
        return time.monotonic() - self._read_at < FRESH_SECONDS
