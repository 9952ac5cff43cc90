"""The lines in front of the hashing threads: fair by address, with a reserve for known devices."""

import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest

from kurz.people.errors import SignInBusy
from kurz.people.hash_queue import Asker, FairLine, HashQueue, _Job

MOST = 6


class Stage:
    """One thread, which is busy until `open`; notes whose turn came in which order."""

    def __init__(self) -> None:
        self.pool = ThreadPoolExecutor(1)
        self.queue = HashQueue(self.pool, 1, MOST)
        self.served: list[str] = []
        self.tasks: dict[str, asyncio.Task[str]] = {}
        self._gate = threading.Event()

    async def ask(self, name: str, address: str, *, is_known: bool = False) -> None:
        asker = Asker(address, is_known)
        self.tasks[name] = asyncio.create_task(self.queue.run(asker, lambda: self._serve(name)))
        await asyncio.sleep(0)

    async def open(self) -> list[str]:
        """Lets everybody be served; gives the names in order, without the one that blocked."""
        before = len(self.served)
        self._gate.set()
        await asyncio.gather(*self.tasks.values(), return_exceptions=True)
        while not self.queue._free:  # noqa: ASYNC110  the work of callers who have left
            await asyncio.sleep(0.001)
        return self.served[before + 1 :]

    def close(self) -> None:
        self._gate.clear()

    def refused(self) -> set[str]:
        ended = {name: task for name, task in self.tasks.items() if task.done()}
        return {
            name
            for name, task in ended.items()
            if not task.cancelled() and isinstance(task.exception(), SignInBusy)
        }

    def _serve(self, name: str) -> str:
        self._gate.wait(60)
        self.served.append(name)
        return name


@pytest.fixture
def stage() -> Iterator[Stage]:
    made = Stage()
    yield made
    made._gate.set()
    made.pool.shutdown()


async def test_addresses_take_turns_however_much_one_asks(stage):
    await stage.ask("first", "flood")
    for number in range(4):
        await stage.ask(f"flood{number}", "flood")
    await stage.ask("ada", "ada")
    await stage.ask("bob", "bob")
    assert await stage.open() == ["flood0", "ada", "bob", "flood1", "flood2", "flood3"]


class Line(FairLine):
    """A line whose work gives the address that asked."""

    def ask(self, *addresses: str) -> None:
        for address in addresses:
            self.push(address, _Job(partial(str, address), asyncio.Future()))

    def serve(self, turns: int) -> list[str]:
        return [self.pop().work() for _ in range(turns)]


async def test_who_was_not_served_lately_goes_before_those_who_ask_all_the_time():
    """Else 24 addresses, each with a browser that is known to an account of its own, delay every
    other sign-in by 24 hashes."""
    line = Line()
    flood = [f"flood{number}" for number in range(24)]
    line.ask(*flood)
    line.serve(len(flood))
    line.ask(*flood, "ada", "bob")
    assert line.serve(3) == ["ada", "bob", "flood0"]
    line.ask("ada")  # who was served lately, and waits like the others
    assert line.serve(len(line)) == [*flood[1:], "ada"]


async def test_who_was_served_lately_does_not_wait_for_all_who_were_not():
    line = Line()
    line.ask("ada")
    line.serve(1)
    line.ask("ada", "ada")
    served = []
    for number in range(6):
        line.ask(f"new{number}", f"more{number}")
        served += line.serve(1)
    assert served == ["new0", "more0", "ada", "new1", "more1", "ada"]


async def test_a_full_line_makes_room_at_the_end_of_the_longest_queue(stage):
    await stage.ask("first", "flood")
    for number in range(MOST - 1):
        await stage.ask(f"flood{number}", "flood")
    await stage.ask("bob", "bob")
    await stage.ask("more", "flood")
    await stage.ask("ada", "ada")
    assert await stage.open() == ["flood0", "bob", "ada", "flood1", "flood2", "flood3"]
    assert stage.refused() == {"more", "flood4"}
    assert stage.tasks["more"].exception().retry_after_seconds > 0


async def test_where_everybody_waits_once_nobody_is_pushed_out(stage):
    for number in range(MOST + 1):
        await stage.ask(f"ask{number}", f"address{number}")
    await stage.ask("late", "late")
    await asyncio.sleep(0)
    assert stage.refused() == {"late"}
    with pytest.raises(SignInBusy):
        stage.queue.check_room(Asker("late"))
    assert await stage.open() == [f"ask{number}" for number in range(1, MOST + 1)]
    stage.queue.check_room(Asker("late"))


async def test_a_full_line_makes_room_for_an_address_that_was_not_served_lately(stage):
    """Else as many addresses as there are places, with one request each, keep out all others."""
    flood = [f"flood{number}" for number in range(MOST)]
    for name in ("blocks", *flood):
        await stage.ask(name, name)
    await stage.open()
    stage.close()
    for name in ("blocks", *flood):
        await stage.ask(f"{name} again", name)
    await stage.ask("ada", "ada")
    await stage.ask("bob", "bob")
    await stage.ask("more of bob", "bob")
    await stage.ask("third", flood[0])
    await asyncio.sleep(0)
    pushed_out = {f"{name} again" for name in flood[-2:]}
    assert stage.refused() == {*pushed_out, "more of bob", "third"}
    again = [f"{name} again" for name in flood[:-2]]
    assert await stage.open() == ["ada", "bob", *again]


async def test_known_devices_have_every_second_turn_and_room_of_their_own(stage):
    await stage.ask("first", "flood")
    for number in range(MOST):
        await stage.ask(f"flood{number}", f"flood{number}")
    for number in range(3):
        await stage.ask(f"known{number}", f"known{number}", is_known=True)
    assert stage.refused() == set()
    assert (await stage.open())[:6] == ["known0", "flood0", "known1", "flood1", "known2", "flood2"]


async def test_known_devices_do_not_starve_the_others(stage):
    await stage.ask("first", "flood")
    for number in range(MOST):
        await stage.ask(f"known{number}", f"known{number}", is_known=True)
    await stage.ask("new", "new")
    assert (await stage.open())[1] == "new"


async def test_whoever_leaves_does_not_make_room_for_more_work(stage):
    """The work goes on: else hanging up would be the way around the bound."""
    for number in range(MOST + 1):
        await stage.ask(f"ask{number}", f"address{number}")
    for task in stage.tasks.values():
        task.cancel()
    await asyncio.sleep(0)
    await stage.ask("late", "late")
    await asyncio.sleep(0)
    assert stage.refused() == {"late"}
    assert len(await stage.open()) == MOST


async def test_work_that_fails_frees_the_thread(stage):
    def fail() -> None:
        raise ValueError("no hash")

    for _ in range(3):
        with pytest.raises(ValueError, match="no hash"):
            await stage.queue.run(Asker(), fail)
    await stage.ask("ada", "ada")
    await stage.open()
    assert stage.served == ["ada"]
