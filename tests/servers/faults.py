"""What the fault proxy can do to a reply."""

import asyncio
import contextlib
import secrets
from collections.abc import Callable, Sequence
from typing import Protocol


class Client(Protocol):
    def give(self, reply: bytes) -> None:
        """Sends it something, unless its connection is dead."""


class Mode:
    """Passes everything on."""

    delay_seconds = 0.0
    swallows = False
    resets = False
    is_heard = False

    def __init__(self) -> None:
        self._ended = asyncio.Event()

    def take(self, client: Client, reply: bytes) -> None:
        """Does with a reply to a client what this mode does."""
        client.give(reply)

    def kills(self, request: bytes) -> bool:
        """Whether the connection on which a client says this is dead from here on."""
        return False

    def cuts(self, request: bytes) -> bool:
        """Whether the connection on which a client says this is reset, now or at its reply."""
        return False

    def end(self) -> None:
        self._ended.set()

    async def wait(self, seconds: float) -> None:
        """Until the time has passed, or the mode has ended."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._ended.wait(), seconds)


class Delay(Mode):
    def __init__(self, seconds: float) -> None:
        super().__init__()
        self.delay_seconds = seconds


class Cut(Mode):
    resets = True


class BlackHole(Mode):
    swallows = True


class Swallow(Mode):
    def __init__(self, word: bytes) -> None:
        super().__init__()
        self._word = word

    def kills(self, request: bytes) -> bool:
        return self._word in request


class CutAt(Mode):
    """When clients have said all the words, in their order. `is_heard`: the server gets the last
    one, and its reply is lost. `stays`: new connections are reset, too."""

    def __init__(self, words: Sequence[bytes], *, is_heard: bool, stays: bool) -> None:
        super().__init__()
        self.is_heard = is_heard
        self._words = list(words)
        self._stays = stays

    def cuts(self, request: bytes) -> bool:
        if not self._words or self._words[0] not in request:
            return False
        del self._words[0]
        self.resets = self._stays and not self._words
        return not self._words


class Garbage(Mode):
    def take(self, client: Client, reply: bytes) -> None:
        client.give(secrets.token_bytes(len(reply)))


class Duplicate(Mode):
    """Gives the chosen replies twice: the first few of them, or all."""

    def __init__(
        self, is_chosen: Callable[[bytes], bool] = bool, times: float = float("inf")
    ) -> None:
        super().__init__()
        self._is_chosen = is_chosen
        self._times = times

    def take(self, client: Client, reply: bytes) -> None:
        client.give(reply)
        if self._times > 0 and self._is_chosen(reply):
            self._times -= 1
            client.give(reply)


class Swap(Mode):
    def __init__(self) -> None:
        super().__init__()
        self._waiting: tuple[Client, bytes] | None = None

    def take(self, client: Client, reply: bytes) -> None:
        if self._waiting is None:
            self._waiting = client, reply
            return
        (other, earlier), self._waiting = self._waiting, None
        other.give(reply)
        client.give(earlier)

    def end(self) -> None:
        super().end()
        if self._waiting is not None:
            client, reply = self._waiting
            client.give(reply)
