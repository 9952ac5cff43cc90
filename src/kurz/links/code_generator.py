"""Which codes to try for a new link, in order. The store's insert decides which of them is free."""

from collections.abc import Callable

from kurz.links.codes import deterministic
from kurz.links.codes.words import is_offensive, is_reserved
from kurz.links.errors import StrategyRefused
from kurz.links.model import ROOT_WORKSPACE_ID, Strategy
from kurz.links.ports import Counter

# Codes tried for one link before giving up.
ATTEMPTS = {
    Strategy.RANDOM: 5,
    Strategy.COUNTER: 5,
    Strategy.DETERMINISTIC: deterministic.SALTS,
}


class CodeGenerator:
    def __init__(
        self,
        *,
        root_strategy: Strategy,
        random_code: Callable[[], str],
        counted_code: Callable[[int], str],
        counter: Counter,
    ) -> None:
        self._root_strategy = root_strategy
        self._random_code = random_code
        self._counted_code = counted_code
        self._counter = counter

    def choose(
        self,
        wanted: Strategy | None,
        custom_code: str | None,
        workspace_id: int,
        default: Strategy | None = None,
    ) -> Strategy:
        """The strategy for a new link, or `StrategyRefused`. `default` is the workspace's own."""
        if custom_code is not None:
            if wanted not in (None, Strategy.CUSTOM):
                raise StrategyRefused("Leave out `strategy` when you send a `custom_code`.")
            return Strategy.CUSTOM
        if wanted is Strategy.CUSTOM:
            raise StrategyRefused("The strategy “custom” needs a `custom_code`.")
        is_root = workspace_id == ROOT_WORKSPACE_ID
        if wanted is Strategy.DETERMINISTIC and is_root:
            raise StrategyRefused("Deterministic codes are only available in workspaces.")
        if is_root:
            return wanted or self._root_strategy
        return wanted or default or Strategy.DETERMINISTIC

    async def code(
        self, strategy: Strategy, canonical_url: str, workspace_id: int, attempt: int
    ) -> str:
        """The code to try at this attempt, of `ATTEMPTS[strategy]`."""
        if strategy is Strategy.DETERMINISTIC:
            return deterministic.generate(canonical_url, workspace_id, salt=attempt)
        while True:
            if strategy is Strategy.COUNTER:
                code = self._counted_code(await self._counter.next())
            else:
                code = self._random_code()
            if not (is_reserved(code) or is_offensive(code)):
                return code
