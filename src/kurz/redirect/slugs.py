"""Which workspace a slug means, cached."""

from kurz.people.workspaces import WorkspaceStore

MAX_KNOWN = 10_000


class Slugs:
    def __init__(self, workspaces: WorkspaceStore) -> None:
        self._workspaces = workspaces
        # By exact slug, for the lane, which cannot wait. None: no workspace has it.
        self.known: dict[str, int | None] = {}

    async def find(self, slug: str) -> int | None:
        """By the current slug or an earlier one, in upper or lower case."""
        known = self.known
        if slug not in known:
            workspace_id = await self._workspaces.find_id(slug.lower())
            if len(known) >= MAX_KNOWN:
                known.clear()
            known[slug] = workspace_id
        return known[slug]

    def forget(self) -> None:
        """The slugs of a workspace have changed, or it is gone."""
        self.known = {}  # not cleared: a running lookup stores its result in the old one
