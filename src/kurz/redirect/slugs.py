"""Which workspace a slug means, at hand."""

from kurz.people.workspaces import WorkspaceStore

MAX_KNOWN = 10_000


class Slugs:
    def __init__(self, workspaces: WorkspaceStore) -> None:
        self._workspaces = workspaces
        self.known: dict[str, int] = {}  # to the letter, for who cannot wait

    async def find(self, slug: str) -> int | None:
        """By the slug or any that the workspace ever had, in any case of letters."""
        known = self.known.get(slug)
        if known is not None:
            return known
        kept = self.known
        workspace = await self._workspaces.find_by_slug(slug.lower())
        if workspace is None:
            return None
        if len(kept) >= MAX_KNOWN:
            kept.clear()
        kept[slug] = workspace.id
        return workspace.id

    def forget(self) -> None:
        """A workspace has other slugs than before, or is gone."""
        self.known = {}  # not cleared: a look-up under way keeps what it finds in the old one
