"""The names kurz answers on: a link to one of them would lead back to it."""

import time
from urllib.parse import urlsplit

from kurz.people.workspaces import WorkspaceStore

FRESH_SECONDS = 1.0


class OwnHosts:
    """The base URL's host and every verified domain, asked for at most once a second."""

    def __init__(self, base_url: str | None, workspaces: WorkspaceStore) -> None:
        self._base = frozenset() if base_url is None else frozenset({_own_host(base_url)})
        self._workspaces = workspaces
        self._hosts = self._base
        self._asked_at = -FRESH_SECONDS

    async def get(self) -> frozenset[str]:
        """Lower-case names: a bare host stands for every port, `host:port` for that port alone."""
        now = time.monotonic()
        if now - self._asked_at >= FRESH_SECONDS:
            self._hosts = self._base | await self._workspaces.verified_hosts()
            self._asked_at = now
        return self._hosts


def _own_host(base_url: str) -> str:
    parts = urlsplit(base_url)
    name = (parts.hostname or "").removesuffix(".")
    host = f"[{name}]" if ":" in name else name
    return host if parts.port is None else f"{host}:{parts.port}"
