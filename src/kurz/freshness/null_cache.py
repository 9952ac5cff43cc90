"""The second tier where there is none."""

from collections.abc import Sequence

from kurz.freshness.routes import Cached, Change, Route


class NullRouteCache:
    """The `RouteCache` that knows nothing."""

    async def find(self, workspace_id: int, short_code: str) -> Cached | None:  # noqa: ARG002
        return None

    def keep(self, workspace_id: int, short_code: str, found: Route | None, position: int) -> None:
        """Nowhere."""

    def forget(self, changes: Sequence[Change]) -> None:
        """There is nothing to forget."""

    def counts(self) -> dict[str, int]:
        return {}
