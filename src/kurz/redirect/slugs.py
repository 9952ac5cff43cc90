"""Which workspace a slug means, at hand."""

from kurz.people.workspaces import WorkspaceStore

MAX_KNOWN = 10_000


class Slugs:
    def __init__(self, workspaces: WorkspaceStore) -> None:
        self._workspaces = workspaces
        # To the letter, for who cannot wait; None is nobody's.
        self.known: dict[str, int | None] = {}

    async def find(self, slug: str) -> int | None:
        """By the slug or any that the workspace ever had, in any case of letters."""
        known = self.known
        if slug not in known:
            workspace_id = await self._workspaces.find_id(slug.lower())
            if len(known) >= MAX_KNOWN:
                known.clear()
            known[slug] = workspace_id
        return known[slug]

    def forget(self) -> None:
        """A workspace has other slugs than before, or is gone."""
        self.known = {}  # not cleared: a look-up under way keeps what it finds in the old one
