"""Servers that work together as one."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from time import monotonic, sleep
from typing import Self

from servers.process import START_SECONDS, Server, ServerError


class ServerGroup(ABC):
    """Starts its servers in their order and stops them in the opposite one; a start that fails
    leaves none of them running. Each can be killed and started again on its own."""

    servers: Sequence[Server]

    @abstractmethod
    def _join(self) -> None:
        """Makes one of the servers, all of which answer by now."""

    def start(self) -> None:
        try:
            for server in self.servers:
                server.start()
            self._join()
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        with ExitStack() as stack:
            for server in self.servers:
                stack.callback(server.stop)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _wait(self, what: str, happened: Callable[[], bool]) -> None:
        deadline = monotonic() + START_SECONDS
        while not happened():
            if monotonic() > deadline:
                raise ServerError(f"{type(self).__name__}: {what} did not happen in time")
            sleep(0.02)
