"""Whose turn it is to spend a quota."""

import pytest

from kurz.errors import StoreBusy
from kurz.people.quotas import Allowance
from kurz.storage.links.quota_turns import QuotaTurns


async def test_turns_are_bounded_and_leave_nothing_behind():
    turns = QuotaTurns(max_seconds=0.05)
    mine, ours = Allowance("account:1", 1, 202611), Allowance("workspace:1", 1, 202611)
    async with turns.take((mine, ours)):
        with pytest.raises(StoreBusy):
            async with turns.take((ours,)):
                pytest.fail("two at once")
        async with turns.take((Allowance("account:2", 1, 202611),)):
            assert len(turns) == 3
    assert len(turns) == 0
