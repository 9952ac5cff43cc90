"""Which site a Host header means."""

import re
from urllib.parse import urlsplit

from kurz.links.model import ROOT_WORKSPACE_ID
from kurz.people.domains import Domains
from kurz.people.errors import HostUnknown
from kurz.people.workspaces import Site

_HOST = re.compile(
    r"(\[[0-9a-f:.]+\]|[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})*\.?)(?::([1-9][0-9]{0,4}))?"
)
MAX_LENGTH = 253 + len(".:65535")
MAX_PORT = 65535


class Hosts:
    """Without a base URL every host that is no custom domain is the root; with one, its host is.
    The root may be a workspace's."""

    def __init__(
        self,
        base_url: str | None,
        domains: Domains,
        root_workspace_id: int = ROOT_WORKSPACE_ID,
    ) -> None:
        self._root = Site(root_workspace_id)
        host = urlsplit(base_url).hostname if base_url else None
        self._base_host = host.removesuffix(".") if host else None
        self._domains = domains

    async def get(self, host: str) -> Site:
        """The site of a Host header, lower case; `HostUnknown` if kurz does not answer for it."""
        match = _HOST.fullmatch(host)
        is_host = match is not None and len(host) <= MAX_LENGTH and int(match[2] or 1) <= MAX_PORT
        name = match[1].strip("[]").removesuffix(".") if match and is_host else ""
        if self._base_host == name:
            return self._root
        site = (await self._domains.sites()).get(name) if name else None
        if site is None and name and self._base_host is None:
            return self._root
        if site is None:
            raise HostUnknown("kurz does not answer under this host name.")
        return site
