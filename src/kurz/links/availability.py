"""Whether a code is free, for people who are choosing one. This promises nothing: the insert
decides."""

from dataclasses import dataclass

from kurz.clock import Clock
from kurz.links.codes import custom
from kurz.links.errors import CustomCodeRefused, CustomCodeTaken, code_taken
from kurz.links.model import ROOT_WORKSPACE_ID, Link, Scope
from kurz.links.ports import LinkStore


@dataclass(frozen=True, slots=True)
class CodeCheck:
    """The error that a create with this code would get. None: it is free. `holder` is the link that
    has it, if it is within the caller's scope."""

    problem: CustomCodeRefused | CustomCodeTaken | None = None
    holder: Link | None = None


class Availability:
    def __init__(self, store: LinkStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    async def look(self, code: str, scope: Scope) -> CodeCheck:
        """Applies the rules of a create in this scope: a workspace, or an account at the root."""
        try:
            custom.check(code)
        except CustomCodeRefused as refused:
            return CodeCheck(refused)
        workspace_id = scope.workspace_id or ROOT_WORKSPACE_ID
        holder = await self._store.find_by_code(workspace_id, code)
        if holder is not None:
            is_own = workspace_id != ROOT_WORKSPACE_ID or holder.owner_id == scope.owner_id
            return CodeCheck(code_taken(code), holder if is_own else None)
        now = self._clock.now()
        if await self._store.is_reserved(workspace_id, code, scope.owner_id, now):
            return CodeCheck(code_taken(code))
        return CodeCheck()
