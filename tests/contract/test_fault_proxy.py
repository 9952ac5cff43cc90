"""The fault proxy does what it says, to plain sockets, to Valkey and to PostgreSQL."""

import asyncio
import socket
import time
from collections.abc import Iterator
from contextlib import closing
from typing import Self

import asyncpg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from servers.fault_proxy import FaultProxy
from servers.process import HOST
from servers.resp import Replies
from servers.valkey import ValkeyServer

REPLIES = [
    b"+OK\r\n",
    b"-ERR no\r\n",
    b":7\r\n",
    b"$-1\r\n",
    b"*-1\r\n",
    b"$0\r\n\r\n",
    b"$4\r\n\r\n+\r\r\n",
    b"*0\r\n",
    b"*2\r\n$1\r\na\r\n*1\r\n:1\r\n",
    b"%1\r\n+key\r\n_\r\n",
    b">2\r\n+message\r\n#t\r\n",
    b"|1\r\n+ttl\r\n:1\r\n=5\r\ntxt:a\r\n",
]


class Client(closing[socket.socket]):
    """One connection that sends lines and says what came back."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection((HOST, port), timeout=10)
        super().__init__(self._socket)

    def __enter__(self) -> Self:  # type: ignore[override]
        return self

    def send(self, *commands: str) -> None:
        self._socket.sendall("".join(f"{command}\r\n" for command in commands).encode())

    def read(self, size: int) -> bytes:
        """That many bytes; fewer only at the end of the connection."""
        data = b""
        while len(data) < size and (chunk := self._socket.recv(size - len(data))):
            data += chunk
        return data

    def ask(self, command: str, size: int) -> bytes:
        self.send(command)
        return self.read(size)

    def hears_nothing(self) -> bool:
        """Whether neither a byte nor an end comes within a moment."""
        self._socket.settimeout(0.1)
        try:
            self._socket.recv(1)
        except TimeoutError:
            return True
        finally:
            self._socket.settimeout(10)
        return False

    def close(self) -> None:
        self._socket.close()


@pytest.fixture(scope="module")
def valkey() -> Iterator[ValkeyServer]:
    with ValkeyServer() as server:
        server.ask("MSET a 1 b 2 c 3")
        yield server


@pytest.fixture
def proxy(valkey: ValkeyServer) -> Iterator[FaultProxy]:
    with FaultProxy(valkey.port) as proxy:
        yield proxy


@pytest.fixture
def client(proxy: FaultProxy) -> Iterator[Client]:
    """A client whose connection is there before any mode."""
    with Client(proxy.port) as client:
        assert client.ask("GET a", 7) == b"$1\r\n1\r\n"
        yield client


@pytest.fixture(scope="module")
def long(valkey: ValkeyServer) -> bytes:
    """The reply to `GET long`, which comes in many pieces."""
    valkey.ask("SETRANGE long 999999 x")
    return b"$1000000\r\n" + b"\0" * 999_999 + b"x\r\n"


def is_connected(valkey: ValkeyServer, name: str) -> bool:
    return f" name={name} " in valkey.ask("CLIENT LIST")


@given(st.lists(st.sampled_from(REPLIES)), st.lists(st.integers(1, 12), min_size=1))
def test_replies_are_cut_where_they_end_however_they_come(replies, sizes):
    stream, cutter = b"".join(replies), Replies()
    cut = []
    while stream:
        for size in sizes:
            cut += cutter.feed(stream[:size])
            stream = stream[size:]
    assert cut == replies
    assert cutter.rest() == b""


def test_another_protocol_is_passed_on_as_it_comes():
    cutter = Replies()
    assert [cutter.feed(chunk) for chunk in (b"N", b"+", b"*1")] == [[b"N"], [b"+"], [b"*1"]]


def test_everything_is_passed_on_and_counted(proxy, client, long):
    assert client.ask("GET long", len(long)) == long
    assert proxy.accepted == 1
    assert proxy.requests == 2
    assert proxy.replies == 2


def test_an_end_is_passed_on_with_all_that_came_before(proxy, client):
    client.send("GET a", "QUIT")
    assert client.read(100) == b"$1\r\n1\r\n+OK\r\n"


def test_a_half_reply_reaches_the_client_before_the_end(valkey):
    with (
        socket.create_server((HOST, 0)) as upstream,
        FaultProxy(upstream.getsockname()[1]) as proxy,
        Client(proxy.port) as client,
    ):
        connection, _ = upstream.accept()
        with connection:
            connection.sendall(b"$10\r\nhalf")
        assert client.read(100) == b"$10\r\nhalf"


def test_delayed_replies_come_late_and_in_order(proxy, client):
    proxy.delay(0.2)
    requested_at = time.monotonic()
    client.send("GET a")
    client.send("GET b", "GET c")
    assert client.read(21) == b"$1\r\n1\r\n$1\r\n2\r\n$1\r\n3\r\n"
    assert time.monotonic() - requested_at >= 0.2
    proxy.delay(3600)
    client.send("GET a", "GET b")
    assert client.hears_nothing()
    proxy.pass_on()
    assert client.read(14) == b"$1\r\n1\r\n$1\r\n2\r\n"


def test_cut_resets_old_and_new_connections(proxy, client):
    proxy.cut()
    with pytest.raises(ConnectionResetError):
        client.read(1)
    with pytest.raises(ConnectionResetError), Client(proxy.port) as new:
        new.read(1)
    assert proxy.accepted == 2
    proxy.pass_on()
    with Client(proxy.port) as new:
        assert new.ask("GET a", 7) == b"$1\r\n1\r\n"


def test_a_black_hole_keeps_connections_and_lets_nothing_through(valkey, proxy, client):
    client.send("BLPOP list 0")  # the server ends this one, and the client must not hear of it
    proxy.black_hole()
    with Client(proxy.port) as new:
        new.send("SET hole 1")
        client.send("SET hole 2")
        valkey.ask("CLIENT KILL TYPE normal")
        assert client.hears_nothing()
        assert new.hears_nothing()
        proxy.pass_on()
        client.send("SET hole 3")
        assert client.hears_nothing()
        assert new.hears_nothing()
    assert valkey.ask("EXISTS hole") == ":0\r\n"
    with Client(proxy.port) as later:
        assert later.ask("GET a", 7) == b"$1\r\n1\r\n"


def test_a_connection_is_dead_once_its_client_has_said_the_word(valkey, proxy, client):
    proxy.swallow(b"hush")
    with Client(proxy.port) as other:
        other.send("SET hush 1")
        assert other.hears_nothing()
        assert client.ask("GET a", 7) == b"$1\r\n1\r\n"
        proxy.pass_on()
        other.send("GET a")
        assert other.hears_nothing()
    assert valkey.ask("EXISTS hush") == ":0\r\n"


@pytest.mark.parametrize("is_heard", [True, False])
def test_a_connection_is_cut_when_its_client_has_said_the_words(valkey, proxy, client, is_heard):
    valkey.ask("DEL said")
    proxy.cut_at(b"GET a", b"said", is_heard=is_heard)
    with Client(proxy.port) as other:
        assert other.ask("GET c", 7) == b"$1\r\n3\r\n"
        assert client.ask("GET a", 7) == b"$1\r\n1\r\n"
        with pytest.raises(ConnectionResetError):
            client.ask("INCR said", 1)
        assert other.ask("GET b", 7) == b"$1\r\n2\r\n"
    assert valkey.ask("EXISTS said") == (":1\r\n" if is_heard else ":0\r\n")
    with Client(proxy.port) as later:
        assert later.ask("GET b", 7) == b"$1\r\n2\r\n"


def test_after_such_a_cut_new_connections_may_fail(proxy, client):
    proxy.cut_at(b"GET a", is_heard=True, stays=True)
    with pytest.raises(ConnectionResetError):
        client.ask("GET a", 1)
    with pytest.raises(ConnectionResetError), Client(proxy.port) as later:
        later.ask("GET b", 1)
    proxy.pass_on()
    with Client(proxy.port) as later:
        assert later.ask("GET b", 7) == b"$1\r\n2\r\n"


def test_a_server_hears_of_the_end_of_a_client_unless_a_black_hole_took_it(
    valkey, proxy, client, long
):
    client.ask("CLIENT SETNAME lost", 5)
    client.ask("GET long", 1)
    proxy.black_hole()
    client.close()  # with a reset, as there are bytes that it has not read
    proxy.pass_on()
    with Client(proxy.port) as other:
        other.ask("CLIENT SETNAME gone", 5)
    while is_connected(valkey, "gone"):
        time.sleep(0.01)
    assert is_connected(valkey, "lost")
    proxy.cut()
    while is_connected(valkey, "lost"):
        time.sleep(0.01)


def test_a_reset_is_passed_on(valkey, proxy, client, long):
    client.ask("CLIENT SETNAME hasty", 5)
    client.ask("GET long", 1)
    client.close()
    while is_connected(valkey, "hasty"):
        time.sleep(0.01)


def test_garbage_is_as_long_as_the_reply(proxy, client):
    proxy.garbage()
    reply = client.ask("ECHO sixteen-letters", 22)
    assert len(reply) == 22
    assert b"sixteen" not in reply
    proxy.pass_on()
    assert client.ask("GET a", 7) == b"$1\r\n1\r\n"


def test_duplicate_gives_each_reply_twice(proxy, client):
    proxy.duplicate()
    client.send("GET a", "GET b")
    assert client.read(28) == b"$1\r\n1\r\n$1\r\n1\r\n$1\r\n2\r\n$1\r\n2\r\n"


def test_one_duplicate_shifts_all_that_follows(proxy, client):
    proxy.duplicate_one(lambda reply: b"2" in reply)
    assert client.ask("GET a", 7) == b"$1\r\n1\r\n"
    assert client.ask("GET b", 7) == b"$1\r\n2\r\n"
    assert client.ask("GET c", 7) == b"$1\r\n2\r\n"
    assert client.ask("GET b", 7) == b"$1\r\n3\r\n"
    assert client.ask("GET a", 7) == b"$1\r\n2\r\n"
    with Client(proxy.port) as other:
        assert other.ask("GET b", 7) == b"$1\r\n2\r\n"
        assert other.ask("GET c", 7) == b"$1\r\n3\r\n"


def test_a_reply_in_pieces_is_duplicated_as_a_whole(proxy, client, long):
    proxy.duplicate_one(lambda reply: len(reply) > 7)
    assert client.ask("GET long", 2 * len(long)) == long * 2
    assert client.ask("GET a", 7) == b"$1\r\n1\r\n"


def test_the_dead_use_up_no_duplicate(valkey, proxy, client):
    client.send("SUBSCRIBE news")
    client.read(33)
    proxy.black_hole()
    proxy.duplicate_one()
    valkey.ask("PUBLISH news now")
    with Client(proxy.port) as other:
        assert other.ask("GET a", 14) == b"$1\r\n1\r\n" * 2


def test_swapped_replies_change_places_on_one_connection_and_between_two(proxy, client):
    with Client(proxy.port) as other:
        assert other.ask("GET a", 7) == b"$1\r\n1\r\n"
        proxy.swap()
        client.send("GET a", "GET b")
        assert client.read(14) == b"$1\r\n2\r\n$1\r\n1\r\n"
        client.send("GET b")
        assert client.hears_nothing()
        assert other.ask("GET c", 7) == b"$1\r\n2\r\n"
        assert client.read(7) == b"$1\r\n3\r\n"
        client.send("GET a")
        assert client.hears_nothing()
        proxy.pass_on()
        assert client.read(7) == b"$1\r\n1\r\n"


def test_new_connections_go_to_another_server(valkey, proxy, client):
    with ValkeyServer() as other:
        other.ask("SET a 9")
        proxy.upstream_port = other.port
        with Client(proxy.port) as new:
            assert new.ask("GET a", 7) == b"$1\r\n9\r\n"
        assert client.ask("GET a", 7) == b"$1\r\n1\r\n"
        other.kill()
        with pytest.raises(ConnectionResetError), Client(proxy.port) as new:
            new.read(1)


def test_postgres_can_be_reached_and_be_lost(postgres):
    url = f"postgresql://postgres@{HOST}:{{}}/postgres"
    with FaultProxy(postgres.port) as proxy:
        asyncio.run(_use_postgres(url.format(proxy.port), proxy))


async def _use_postgres(url: str, proxy: FaultProxy) -> None:
    connection = await asyncpg.connect(url)
    assert await connection.fetchval("SELECT repeat('+', 200000)") == "+" * 200_000
    proxy.black_hole()
    with pytest.raises(TimeoutError):
        await connection.fetchval("SELECT 1", timeout=0.2)
    proxy.cut()
    with pytest.raises((OSError, asyncpg.PostgresConnectionError)):
        await asyncpg.connect(url, ssl=False)
    connection.terminate()
