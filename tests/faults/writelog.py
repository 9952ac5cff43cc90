"""What a running process hands to the kernel to be written or sent, in the order it does so."""

import itertools
import os
import struct
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from faults.tracer import AARCH64, X86_64, Tracer

# By number: where the bytes of a call are. "buffer": its second argument, as many as the third
# says. "vector": the second is an array of pieces, the third their count. "message": the second
# points to a struct msghdr, which names such an array.
_X86_64 = {1: "buffer", 18: "buffer", 44: "buffer", 20: "vector", 296: "vector", 328: "vector"}
_AARCH64 = {64: "buffer", 68: "buffer", 206: "buffer", 66: "vector", 69: "vector", 287: "vector"}
CALLS = {X86_64: {**_X86_64, 46: "message"}, AARCH64: {**_AARCH64, 211: "message"}}
PIECE = struct.Struct("=QQ")  # struct iovec
MESSAGE = struct.Struct("=16xQQ")  # of struct msghdr: the array and its length


@dataclass
class Write:
    """`begun` and `done` are places in one count of all beginnings and ends. At `begun` the kernel
    has none of the data yet; at `done` it has `result` bytes of it."""

    target: str  # as /proc names it: a path, or "socket:[…]"
    data: bytes
    begun: int
    done: int | None = None
    result: int = -1

    @property
    def is_whole(self) -> bool:
        return self.result == len(self.data)


class WriteLog(Tracer):
    def __init__(self, pid: int) -> None:
        super().__init__(pid)
        self.writes: list[Write] = []
        self._places = itertools.count()
        self._under_way: dict[int, Write] = {}
        self._memory = -1

    def __enter__(self) -> Self:
        super().__enter__()
        return self

    def __exit__(self, *details: object) -> None:
        super().__exit__(*details)
        if self._memory >= 0:
            os.close(self._memory)

    def _on_entry(self, thread: int, arch: int, number: int, arguments: tuple[int, ...]) -> None:
        form = CALLS[arch].get(number)
        if form is None:
            return
        with suppress(OSError):  # a file that is not open: the call will fail
            target = str(Path(f"/proc/{self._pid}/fd/{arguments[0] & 0xFFFFFFFF}").readlink())
            data = self._data(form, *arguments[1:3])
            write = self._under_way[thread] = Write(target, data, next(self._places))
            self.writes.append(write)

    def _on_exit(self, thread: int, result: int, *, is_error: bool) -> None:
        write = self._under_way.pop(thread, None)
        if write is not None:
            write.done = next(self._places)
            write.result = -1 if is_error else result

    def _data(self, form: str, address: int, count: int) -> bytes:
        if form == "buffer":
            return self._read(address, count)
        if form == "message":
            address, count = MESSAGE.unpack(self._read(address, MESSAGE.size))
        pieces = PIECE.iter_unpack(self._read(address, count * PIECE.size))
        return b"".join(self._read(*piece) for piece in pieces)

    def _read(self, address: int, count: int) -> bytes:
        if self._memory < 0:  # only a tracer may open it
            self._memory = os.open(f"/proc/{self._pid}/mem", os.O_RDONLY | os.O_CLOEXEC)
        return os.pread(self._memory, count, address)
