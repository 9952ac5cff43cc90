"""Decides whether bytes are one whole request, with the parser that the ASGI path uses."""

import httptools


class WholeRequestParser:
    """Tells whether a chunk is exactly one request whose connection stays open. Callbacks of a
    subclass may set `_is_ordinary` to False."""

    def __init__(self) -> None:
        self._begin()

    def _begin(self) -> None:
        self._parser = httptools.HttpRequestParser(self)

    def is_whole(self, data: bytes) -> bool:
        self._begun = self._completed = 0
        self._is_ordinary = True
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade):
            self._is_ordinary = False
        if self._begun == self._completed == 1 and self._is_ordinary:
            return True
        self._begin()  # it may wait for the rest of something
        return False

    def on_message_begin(self) -> None:
        self._begun += 1

    def on_headers_complete(self) -> None:
        if not self._parser.should_keep_alive():
            self._is_ordinary = False

    def on_message_complete(self) -> None:
        self._completed += 1
