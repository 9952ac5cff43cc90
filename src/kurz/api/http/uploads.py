"""A file in a request, stored until it is complete: small ones in memory, larger ones on disk."""

import asyncio
import tempfile
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Self

from starlette.requests import ClientDisconnect, Request

from kurz.api.http.problems import BodyMalformed
from kurz.errors import KurzError, WritesFail

MEMORY_BYTES = 64 * 1024  # of a file, and of a piece that is written to the disk
CHUNK_BYTES = 1024  # of empty lines, the slowest case: half a millisecond


class Upload:
    def __init__(self) -> None:
        self._file = tempfile.SpooledTemporaryFile(MEMORY_BYTES)  # noqa: SIM115  closed on exit
        self._piece = bytearray()  # what must be written
        self.lines = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(OSError):  # `close` tries again to write the rest
            self._file.close()

    async def receive(self, request: Request, most_bytes: int, too_large: KurzError) -> None:
        """Stores the whole body. Raises `too_large` as soon as that is known, and `WritesFail` if
        it cannot be written."""
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
                self._piece += chunk
                if len(self._piece) > MEMORY_BYTES:
                    await self._write()
        except ClientDisconnect:
            raise BodyMalformed("The file was not sent completely. Send it again.") from None
        if size > MEMORY_BYTES:
            await self._write()
        else:
            self._file.write(self._piece)

    async def chunks(self) -> AsyncIterator[bytes]:
        """From the beginning. Lets other tasks run after each chunk."""
        self._file.seek(0)
        while chunk := self._file.read(CHUNK_BYTES):
            yield chunk
            await asyncio.sleep(0)

    async def _write(self) -> None:
        """In a thread: a disk may be slow, and others are served meanwhile."""
        piece, self._piece = self._piece, bytearray()
        try:
            await asyncio.to_thread(self._write_out, piece)
        except OSError as error:
            raise WritesFail(
                f"The server cannot store the file: {error.strerror}. Nothing was imported."
                " Try again later."
            ) from None

    def _write_out(self, piece: bytearray) -> None:
        self._file.write(piece)
        self._file.flush()
