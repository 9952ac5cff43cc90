"""Ways to keep an instance from being woken; the change log stays within its reach."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

from kurz.feed.postgres import APPLICATION
from servers.fault_proxy import FaultProxy
from support.instances import Installation, Instance

DEADLINE_SECONDS = 60.0
PAUSE_SECONDS = 0.1

Silence = Callable[[Installation, Instance], AbstractContextManager[None]]


@contextmanager
def redis_cut(_: Installation, instance: Instance) -> Iterator[None]:
    _redis(instance).cut()
    yield
    _redis(instance).pass_on()


@contextmanager
def redis_swallowed(_: Installation, instance: Instance) -> Iterator[None]:
    _redis(instance).black_hole()
    yield
    _redis(instance).pass_on()


@contextmanager
def listeners_ended(installation: Installation, _: Instance) -> Iterator[None]:
    """Of all instances, again and again."""
    is_over = threading.Event()

    def keep_ending() -> None:
        while not is_over.wait(PAUSE_SECONDS):
            installation.end_listeners()

    thread = threading.Thread(target=keep_ending, daemon=True)
    thread.start()
    yield
    is_over.set()
    thread.join()


@contextmanager
def listeners_swallowed(installation: Installation, instance: Instance) -> Iterator[None]:
    """Those of one instance, and nothing else that it asks the database."""
    before = installation.listeners
    instance.database.swallow(APPLICATION.encode())
    installation.end_listeners()
    deadline = time.monotonic() + DEADLINE_SECONDS
    while not 0 < installation.listeners < before:
        assert time.monotonic() < deadline, "the others did not come back"
        time.sleep(PAUSE_SECONDS)
    yield
    instance.database.pass_on()


def _redis(instance: Instance) -> FaultProxy:
    assert instance.redis is not None
    return instance.redis
