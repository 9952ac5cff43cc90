"""Decides whether bytes are one whole request, with the parser that the ASGI path uses."""

import httptools


class WholeRequestParser:
    """Tells whether a chunk is exactly one request. `closes` is whether its connection ends after
    the answer: such requests are whole only for a subclass with `_takes_last`. Callbacks of a
    subclass may set `_is_ordinary` to False."""

    _takes_last = False

    def __init__(self) -> None:
        self._begin()

    def _begin(self) -> None:
        self._parser = httptools.HttpRequestParser(self)

    def is_whole(self, data: bytes) -> bool:
        self._begun = self._completed = 0
        self._is_ordinary = True
        self.closes = False
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade):
            self._is_ordinary = False
        is_whole = self._begun == self._completed == 1 and self._is_ordinary
        if self.closes or not is_whole:
            self._begin()  # it takes nothing more, or waits for the rest of something
        return is_whole

    def on_message_begin(self) -> None:
        self._begun += 1

    def on_headers_complete(self) -> None:
        # As uvicorn sees it, which never keeps a connection of HTTP/1.0.
        if not self._parser.should_keep_alive() or self._parser.get_http_version() == "1.0":
            self.closes = True
            self._is_ordinary = self._is_ordinary and self._takes_last

    def on_message_complete(self) -> None:
        self._completed += 1
