"""A site that links lead to, and that is there."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SITE = "127.7.0.1"


class _Handler(BaseHTTPRequestHandler):
    def do_HEAD(self) -> None:
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Nobody reads it."""


@contextmanager
def open_site() -> Iterator[int]:
    """At `SITE`; gives its port."""
    server = ThreadingHTTPServer((SITE, 0), _Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
