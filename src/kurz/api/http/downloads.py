"""Answers that are sent as files, piece by piece. A client that reads slowly keeps one open for
long, so an account can have only a few at a time."""

import math
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager

from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from kurz.errors import Limited


class TooManyDownloads(Limited):
    title = "Too many downloads for this account"
    retry_after_seconds = 5


class Downloads:
    """The open downloads of this worker. `max_of_account`: 0 is unlimited."""

    def __init__(self, max_of_account: int) -> None:
        self._max_of_account = max_of_account or math.inf
        self._open: Counter[int] = Counter()  # by account

    @contextmanager
    def hold(self, account_id: int) -> Iterator[None]:
        if self._open[account_id] >= self._max_of_account:
            raise TooManyDownloads(
                f"You can have at most {self._max_of_account} downloads open at a time. Wait"
                " until one has finished, then try again."
            )
        self._open[account_id] += 1
        try:
            yield
        finally:
            self._open[account_id] -= 1
            self._open += Counter()  # removes the zeros


class Download(StreamingResponse):
    def __init__(
        self,
        chunks: AsyncIterator[bytes],
        downloads: Downloads,
        account_id: int,
        *,
        file_name: str,
        media_type: str,
    ) -> None:
        headers = {
            "cache-control": "no-store",
            "content-disposition": f'attachment; filename="{file_name}"',
        }
        super().__init__(chunks, media_type=media_type, headers=headers)
        self._downloads = downloads
        self._account_id = account_id

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._downloads.hold(self._account_id):
            await super().__call__(scope, receive, send)
