"""The names kurz answers on: a link to one of them would lead back to it."""

from collections.abc import Mapping
from urllib.parse import urlsplit

from kurz.people.domains import Domains
from kurz.people.workspaces import Site


class OwnHosts:
    """The base URL's host, the dashboard's, and every verified domain."""

    def __init__(
        self, base_url: str | None, domains: Domains, dashboard_url: str | None = None
    ) -> None:
        self._base = frozenset(_own_host(it) for it in (base_url, dashboard_url) if it is not None)
        self._domains = domains
        self._seen: Mapping[str, Site] | None = None
        self._hosts = self._base

    async def get(self) -> frozenset[str]:
        """Lower-case names: a bare host means every port, `host:port` only that port."""
        sites = await self._domains.sites()
        if sites is not self._seen:
            self._hosts = self._base.union(sites)
            self._seen = sites
        return self._hosts


def _own_host(base_url: str) -> str:
    parts = urlsplit(base_url)
    name = (parts.hostname or "").removesuffix(".")
    host = f"[{name}]" if ":" in name else name
    return host if parts.port is None else f"{host}:{parts.port}"
