"""Workspaces: teams with a space of codes of their own, under a slug and custom domains."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Workspace:
    """`root_url` is where `/` of its domains leads."""

    id: int
    name: str
    slug: str
    root_url: str | None = None


@dataclass(frozen=True, slots=True)
class Site:
    """What a host name stands for: the root of the installation, or a workspace's own domain."""

    workspace_id: int
    is_custom_domain: bool = False
    root_url: str | None = None


class WorkspaceStore(Protocol):
    """Finds workspaces. An outage raises `StoreUnavailable`."""

    async def find(self, workspace_id: int) -> Workspace | None: ...

    async def find_by_slug(self, slug: str) -> Workspace | None:
        """By its slug or any slug it ever had."""

    async def verified_sites(self) -> Mapping[str, Site]:
        """The site of every verified custom domain, lower case."""
