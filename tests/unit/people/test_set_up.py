"""Whether the first administrator is missing, as pages ask for it."""

import asyncio

from kurz.errors import StoreUnavailable
from kurz.people.set_up import SetUpState


class Store:
    def __init__(self) -> None:
        self.has = False
        self.is_out = False
        self.asked = 0
        self.seconds = 0.0

    async def has_admin(self) -> bool:
        self.asked += 1
        await asyncio.sleep(self.seconds)
        if self.is_out:
            raise StoreUnavailable("It does not answer.")
        return self.has


async def test_the_store_is_asked_once_a_second_until_there_is_an_administrator():
    store, now = Store(), [0.0]
    state = SetUpState(store, lambda: now[0])  # type: ignore[arg-type]
    assert [await state.is_needed() for _ in range(3)] == [True] * 3
    assert store.asked == 1
    store.has = True
    now[0] = 1.0
    assert [await state.is_needed() for _ in range(3)] == [False] * 3
    now[0] = 100.0
    assert not await state.is_needed()
    assert store.asked == 2


async def test_a_store_that_does_not_answer_shows_no_notice_and_is_asked_again_a_second_later():
    store, now = Store(), [0.0]
    state = SetUpState(store, lambda: now[0])  # type: ignore[arg-type]
    assert await state.is_needed()
    store.is_out = True
    now[0] = 1.0
    assert [await state.is_needed() for _ in range(3)] == [False] * 3
    assert store.asked == 2
    store.is_out = False
    now[0] = 2.0
    assert await state.is_needed()


async def test_pages_that_load_while_the_store_is_asked_do_not_ask_it_too():
    store, now = Store(), [0.0]
    store.seconds = 0.01
    state = SetUpState(store, lambda: now[0])  # type: ignore[arg-type]
    assert await asyncio.gather(*(state.is_needed() for _ in range(3))) == [True, False, False]
    assert store.asked == 1
