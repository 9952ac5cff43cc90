"""Which site a Host header means."""

import re
from urllib.parse import urlsplit

from kurz.links.model import ROOT_WORKSPACE_ID
from kurz.people.domains import Domains
from kurz.people.errors import HostUnclear, HostUnknown
from kurz.people.workspaces import Site

_HOST = re.compile(
    r"(\[[0-9a-f:.]+\]|[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})*\.?)(?::([1-9][0-9]{0,4}))?"
)
MAX_LENGTH = 253 + len(".:65535")
MAX_PORT = 65535
MAX_KNOWN = 1000  # spellings of Host headers in memory; clients can send any number


class Hosts:
    """Without a base URL, every host that is not a custom domain is the root; with one, only its
    host. The root may belong to a workspace. With `dashboard_url`, that host has all the pages and
    no codes."""

    def __init__(
        self,
        base_url: str | None,
        domains: Domains,
        root_workspace_id: int = ROOT_WORKSPACE_ID,
        dashboard_url: str | None = None,
    ) -> None:
        self._root = Site(root_workspace_id, has_pages=dashboard_url is None)
        self._dashboard = Site(root_workspace_id, has_codes=False)
        self._base_host = _name(base_url)
        self._dashboard_host = _name(dashboard_url)
        self._domains = domains
        # Sites by exact Host header, for the lane, which cannot wait.
        self.known: dict[bytes, Site] = {}

    async def get(self, raw: bytes | None) -> Site:
        """The site of a Host header. `HostUnclear`: there is none, or more than one (None);
        `HostUnknown`: kurz does not answer for it."""
        if raw is None:
            raise HostUnclear("Send exactly one Host header.")
        site = self.known.get(raw)
        if site is None:
            known = self.known
            site = await self._look_up(raw.decode("latin-1").lower())
            if self._is_certain(site):
                if len(known) >= MAX_KNOWN:
                    known.clear()
                known[raw] = site
        return site

    def forget(self) -> None:
        """The domains of a workspace have changed."""
        self._domains.forget()
        self.known = {}  # not cleared: a running lookup stores its result in the old one

    def _is_certain(self, site: Site) -> bool:
        """False if the domains may be outdated because the store is down: a cached site would be
        used until the next change. Never true for the dashboard's host: the lane looks for codes,
        and that host has none."""
        if not site.has_codes:
            return False
        is_base = self._base_host is not None and site is self._root
        return is_base or self._domains.is_current

    async def _look_up(self, host: str) -> Site:
        match = _HOST.fullmatch(host)
        is_host = match is not None and len(host) <= MAX_LENGTH and int(match[2] or 1) <= MAX_PORT
        name = match[1].strip("[]").removesuffix(".") if match and is_host else ""
        if self._base_host == name:
            return self._root
        if name and self._dashboard_host == name:
            return self._dashboard
        site = (await self._domains.sites()).get(name) if name else None
        if site is None and name and self._base_host is None:
            return self._root
        if site is None:
            raise HostUnknown("kurz does not serve this host. Use the address in KURZ_BASE_URL.")
        return site


def _name(address: str | None) -> str | None:
    host = urlsplit(address).hostname if address else None
    return host.removesuffix(".") if host else None
