"""A file that a request brings, kept until all of it is there: small ones in memory, larger ones on
the disk."""

import asyncio
import tempfile
from collections.abc import AsyncIterator
from types import TracebackType
from typing import Self

from starlette.requests import ClientDisconnect, Request

from kurz.api.problems import BodyMalformed
from kurz.errors import KurzError

MEMORY_BYTES = 64 * 1024
CHUNK_BYTES = 1024  # of empty lines, which take the longest: half a millisecond


class Upload:
    def __init__(self) -> None:
        self._file = tempfile.SpooledTemporaryFile(MEMORY_BYTES)  # noqa: SIM115  closed on exit
        self.lines = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._file.close()

    async def receive(self, request: Request, most_bytes: int, too_large: KurzError) -> None:
        """All of the body. Raises `too_large` as soon as that is known."""
        declared = request.headers.get("content-length", "")
        if declared.isdecimal() and int(declared) > most_bytes:
            raise too_large
        size = 0
        try:
            async for chunk in request.stream():
                size += len(chunk)
                if size > most_bytes:
                    raise too_large
                self.lines += chunk.count(b"\n")
                self._file.write(chunk)
        except ClientDisconnect:
            raise BodyMalformed("The file was not sent completely.") from None

    async def chunks(self) -> AsyncIterator[bytes]:
        """From the beginning. Lets other tasks run after each chunk."""
        self._file.seek(0)
        while chunk := self._file.read(CHUNK_BYTES):
            yield chunk
            await asyncio.sleep(0)
