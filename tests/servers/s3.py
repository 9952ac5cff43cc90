"""A server that speaks S3's language, on loopback, in memory."""

import logging
from typing import Self

import httpx2
from moto.server import ThreadedMotoServer

from servers.process import HOST


class S3Server:
    """Anybody's key opens it."""

    def __init__(self) -> None:
        self._server = ThreadedMotoServer(ip_address=HOST, port=0, verbose=False)
        self.url = ""

    def __enter__(self) -> Self:
        logging.getLogger("werkzeug").setLevel(logging.ERROR)  # a line for every request
        self._server.start()
        host, port = self._server.get_host_and_port()
        self.url = f"http://{host}:{port}"
        return self

    def __exit__(self, *_: object) -> None:
        self._server.stop()

    def make_bucket(self, name: str) -> None:
        httpx2.put(f"{self.url}/{name}").raise_for_status()

    def put(self, bucket: str, key: str, data: bytes) -> None:
        httpx2.put(f"{self.url}/{bucket}/{key}", content=data).raise_for_status()
