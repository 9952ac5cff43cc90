"""Connections that wait to be accepted, while every turn of the event loop takes long."""

import asyncio
import contextlib
import socket
import time
from collections.abc import Iterator
from typing import Any

import pytest
import uvloop

from kurz.server.accepting import PER_TURN, Acceptor
from kurz.server.capacity import Capacity
from kurz.server.listening import bind

WAITING = 2 * PER_TURN
TURN_SECONDS = 0.002


class Guest(asyncio.Protocol):
    """A connection that is counted, as a worker's is."""

    def __init__(self, capacity: Capacity, guests: list["Guest"]) -> None:
        self._capacity = capacity
        self._guests = guests
        self.is_heard = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport
        self._guests.append(self)
        self._capacity.open += 1

    def data_received(self, _: bytes) -> None:
        self.is_heard = True

    def shutdown(self) -> None: ...


@pytest.fixture
def queue() -> Iterator[tuple[socket.socket, list[socket.socket]]]:
    """A listener, and its clients: each has sent a byte."""
    with contextlib.ExitStack() as stack:
        listener = stack.enter_context(bind("127.0.0.1", 0))
        listener.listen(WAITING)
        clients = []
        for _ in range(WAITING):
            client = stack.enter_context(socket.create_connection(listener.getsockname()))
            client.sendall(b"x")
            clients.append(client)
        yield listener, clients


async def accept_all(
    listener: socket.socket, capacity: Capacity, turns: int, *, has_epoll: bool = True
) -> int:
    """How many clients were heard after this number of long turns."""
    guests: list[Guest] = []
    acceptor = Acceptor(lambda: Guest(capacity, guests), capacity, set(), has_epoll=has_epoll)
    listener.settimeout(0)
    acceptor.start([listener])
    for _ in range(turns):
        time.sleep(TURN_SECONDS)  # noqa: ASYNC251
        await asyncio.sleep(0)
    await acceptor.finish()
    heard = sum(guest.is_heard for guest in guests)
    await asyncio.sleep(0.1)
    for guest in guests:
        guest.transport.close()
    acceptor.close()
    return heard


def run(coroutine: Any) -> Any:
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(coroutine)


@pytest.mark.parametrize("has_epoll", [True, False])
def test_those_that_wait_are_accepted_in_a_few_turns(queue, has_epoll):
    listener, _ = queue
    heard = run(accept_all(listener, Capacity(), turns=WAITING // 4, has_epoll=has_epoll))
    assert heard == WAITING


def test_no_more_are_accepted_than_there_is_room_for(queue):
    listener, _ = queue
    capacity = Capacity(PER_TURN // 4)
    turns = 10
    heard = run(accept_all(listener, capacity, turns))
    # One more is accepted in each turn: whether there is room for it is not decided here.
    assert capacity.most <= heard <= capacity.most + turns


def test_at_the_end_every_accepted_connection_is_known(queue):
    """Otherwise it is not told to end, and answers while its worker closes everything."""
    listener, _ = queue

    async def accept_and_finish() -> tuple[int, int]:
        capacity, guests = Capacity(), list[Guest]()
        acceptor = Acceptor(lambda: Guest(capacity, guests), capacity, set())
        listener.settimeout(0)
        acceptor.start([listener])
        acceptor._accept_from(listener)
        before = len(guests)
        await acceptor.finish()
        for guest in guests:
            guest.transport.close()
        await asyncio.sleep(0.1)
        acceptor.close()
        return before, len(guests)

    assert run(accept_and_finish()) == (0, PER_TURN)


def test_a_client_that_is_gone_already_is_no_error(queue):
    listener, clients = queue
    for client in clients:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        client.close()
    errors: list[Any] = []

    async def accept_with_handler() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, error: errors.append(error))
        await accept_all(listener, Capacity(), turns=WAITING // 4)

    run(accept_with_handler())
    assert errors == []
