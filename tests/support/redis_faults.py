"""What can go wrong with Redis while kurz uses it, as blocks during which it does."""

import os
import re
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Self

from servers.fault_proxy import FaultProxy
from servers.process import HOST, free_port
from servers.valkey import ValkeyServer

USER, PASSWORD = "kurz", "word"
# Each value is written under the key behind its own.
MISPLACE = (
    "local keys = redis.call('KEYS', 'kurz:*:route-*') for i = #keys, 2, -1 do"
    " redis.call('COPY', keys[i - 1], keys[i], 'REPLACE') end return #keys"
)


class Scene:
    """A server, and a proxy before it."""

    def __init__(self) -> None:
        self.server = ValkeyServer()
        self.proxy = FaultProxy(0)
        self._stack = ExitStack()

    @property
    def url(self) -> str:
        return f"redis://{USER}:{PASSWORD}@{HOST}:{self.proxy.port}/0"

    def let_in(self) -> None:
        """A server that was killed knows nobody."""
        self.server.ask(f"ACL SETUSER {USER} on >{PASSWORD} ~* &* +@all")

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            stack.enter_context(self.server)
            self.let_in()
            self.proxy.upstream_port = self.server.port
            stack.enter_context(self.proxy)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()


@contextmanager
def killed(scene: Scene) -> Iterator[None]:
    scene.server.kill()
    yield
    scene.server.start()
    scene.let_in()


@contextmanager
def paused(scene: Scene) -> Iterator[None]:
    """Connections stay open, and can be made; nobody answers."""
    os.kill(scene.server.pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(scene.server.pid, signal.SIGCONT)


@contextmanager
def full(scene: Scene) -> Iterator[None]:
    """Every write is refused, reads are not."""
    scene.server.ask("CONFIG SET maxmemory 1")
    yield
    scene.server.ask("CONFIG SET maxmemory 0")


@contextmanager
def evicting(scene: Scene) -> Iterator[None]:
    """Has less room than it uses."""
    used = re.search(r"used_memory:(\d+)", scene.server.ask("INFO memory"))
    assert used is not None
    scene.server.ask("CONFIG SET maxmemory-policy allkeys-lru")
    scene.server.ask(f"CONFIG SET maxmemory {int(used[1]) - 100_000}")
    yield
    scene.server.ask("CONFIG SET maxmemory 0")


@contextmanager
def removed(scene: Scene) -> Iterator[None]:
    """The account that kurz has there is gone, and with it its connections."""
    scene.server.ask(f"ACL DELUSER {USER}")
    yield
    scene.let_in()


@contextmanager
def forbidden(scene: Scene) -> Iterator[None]:
    """It may connect, and do nothing."""
    scene.server.ask(f"ACL SETUSER {USER} -@all")
    yield
    scene.let_in()


@contextmanager
def read_only(scene: Scene) -> Iterator[None]:
    """The replica of a master that cannot be found."""
    scene.server.ask(f"REPLICAOF {HOST} {free_port()}")
    yield
    scene.server.ask("REPLICAOF NO ONE")


def flushed(scene: Scene) -> AbstractContextManager[None]:
    return _again_and_again(1.0, lambda: scene.server.ask("FLUSHALL"))


def misplaced(scene: Scene) -> AbstractContextManager[None]:
    return _again_and_again(0.2, lambda: scene.server.ask(f'EVAL "{MISPLACE}" 0'))


def shifted_once(scene: Scene) -> AbstractContextManager[None]:
    """Again and again some connection is one answer late for good."""
    return _again_and_again(0.1, lambda: scene.proxy.duplicate_one(_is_value))


def _is_value(reply: bytes) -> bool:
    return reply.startswith(b"$") and b"original_url" in reply


def _proxied(
    spoil: Callable[[FaultProxy], None],
) -> Callable[[Scene], AbstractContextManager[None]]:
    @contextmanager
    def spoilt(scene: Scene) -> Iterator[None]:
        spoil(scene.proxy)
        yield
        scene.proxy.pass_on()

    return spoilt


@contextmanager
def _again_and_again(every_seconds: float, act: Callable[[], object]) -> Iterator[None]:
    is_over = threading.Event()

    def run() -> None:
        while not is_over.wait(every_seconds):
            act()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()


FAULTS: dict[str, Callable[[Scene], AbstractContextManager[None]]] = {
    "killed": killed,
    "paused": paused,
    "flushed": flushed,
    "full": full,
    "evicting": evicting,
    "garbage": _proxied(FaultProxy.garbage),
    "shifted": _proxied(FaultProxy.duplicate),
    "shifted once": shifted_once,
    "swapped": _proxied(FaultProxy.swap),
    "misplaced": misplaced,
    "2 s late": _proxied(lambda proxy: proxy.delay(2.0)),
    "30 ms late": _proxied(lambda proxy: proxy.delay(0.03)),
    "cut": _proxied(FaultProxy.cut),
    "black-holed": _proxied(FaultProxy.black_hole),
    "removed": removed,
    "forbidden": forbidden,
    "read-only": read_only,
}
