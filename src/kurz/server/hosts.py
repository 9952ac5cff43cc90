"""Which site a Host header means."""

import re
import time
from urllib.parse import urlsplit

from kurz.errors import StoreUnavailable
from kurz.links.model import ROOT_WORKSPACE_ID
from kurz.people.errors import HostUnknown
from kurz.people.workspaces import Site, WorkspaceStore

FRESH_SECONDS = 1.0  # how long a domain's removal may go unnoticed
REMEMBERED_HOSTS = 1024

_HOST = re.compile(r"(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::[0-9]{1,5})?")
_ROOT = Site(ROOT_WORKSPACE_ID)


class Hosts:
    """Without a base URL every host that is no custom domain is the root; with one, its host is."""

    def __init__(self, base_url: str | None, workspaces: WorkspaceStore) -> None:
        host = urlsplit(base_url).hostname if base_url else None
        self._base_host = host.removesuffix(".") if host else None
        self._workspaces = workspaces
        self._remembered: dict[str, tuple[float, Site | None]] = {}

    async def get(self, host: str) -> Site:
        """The site of a Host header, lower case; `HostUnknown` if kurz does not answer for it."""
        match = _HOST.fullmatch(host)
        name = match[1].strip("[]").removesuffix(".") if match else ""
        if self._base_host == name:
            return _ROOT
        site = await self._find(name) if name else None
        if site is None:
            raise HostUnknown("kurz does not answer under this host name.")
        return site

    async def _find(self, name: str) -> Site | None:
        asked_at, site = self._remembered.get(name, (0.0, None))
        now = time.monotonic()
        if asked_at and now - asked_at < FRESH_SECONDS:
            return site
        try:
            workspace = await self._workspaces.find_by_host(name)
        except StoreUnavailable:
            if asked_at:  # a site of a second ago is better than none
                return site
            raise
        if workspace is not None:
            site = Site(workspace.id, is_custom_domain=True, root_url=workspace.root_url)
        else:
            site = _ROOT if self._base_host is None else None
        if len(self._remembered) >= REMEMBERED_HOSTS:
            self._remembered.clear()
        self._remembered[name] = (now, site)
        return site
