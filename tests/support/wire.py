"""HTTP over a plain socket, for tests that care which bytes go over which connection, and when."""

import json
import re
import socket
from collections.abc import Iterable
from contextlib import closing
from typing import Any, NamedTuple, Self

_HEADER = re.compile(rb"^([^:\r\n]+): *([^\r\n]*)\r\n", re.MULTILINE)
_END = b"\r\n\r\n"


def socket_address(host: str, port: int) -> tuple[socket.AddressFamily, Any]:
    """The family of the socket that reaches a server, and what to connect it to."""
    path = host.removeprefix("unix:")
    if path != host:
        return socket.AF_UNIX, path
    return (socket.AF_INET6 if ":" in host else socket.AF_INET), (host, port)


class Answer(NamedTuple):
    status: int
    headers: dict[bytes, bytes]
    body: bytes

    @property
    def location(self) -> str | None:
        value = self.headers.get(b"location")
        return None if value is None else value.decode()

    @property
    def ends_connection(self) -> bool:
        return self.headers.get(b"connection", b"").lower() == b"close"


class Wire(closing[socket.socket]):
    """One connection. What ends before an answer is whole is a `ConnectionError`. `host` may be
    `unix:` and a path."""

    def __init__(self, port: int, timeout: float = 30, host: str = "127.0.0.1") -> None:
        family, address = socket_address(host, port)
        self._socket = socket.socket(family)
        self._socket.settimeout(timeout)
        try:
            self._socket.connect(address)
        except OSError:
            self._socket.close()
            raise
        if family != socket.AF_UNIX:
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._received = b""
        super().__init__(self._socket)

    def __enter__(self) -> Self:  # type: ignore[override]
        return self

    def close(self) -> None:
        self._socket.close()

    def get(self, path: str, agent: str = "test", host: str = "localhost") -> Answer:
        self.send([path], agent, host)
        return self.receive()

    def send(self, paths: Iterable[str], agent: str = "test", host: str = "localhost") -> None:
        """Requests without waiting for answers, in one piece."""
        fields = f"Host: {host}\r\nUser-Agent: {agent}\r\nAccept: */*\r\n\r\n"
        self._socket.sendall("".join(f"GET {path} HTTP/1.1\r\n{fields}" for path in paths).encode())

    def post(self, path: str, document: object, token: str = "") -> Answer:
        return self.call("POST", path, document, token)

    def call(self, method: str, path: str, document: object, token: str = "") -> Answer:
        body = json.dumps(document)
        token = f"Authorization: Bearer {token}\r\n" if token else ""
        fields = f"Host: localhost\r\nContent-Type: application/json\r\n{token}"
        head = f"{method} {path} HTTP/1.1\r\n{fields}Content-Length: {len(body)}\r\n\r\n"
        self._socket.sendall((head + body).encode())
        return self.receive()

    def ask(self, request: bytes) -> Answer:
        self.send_raw(request)
        return self.receive()

    def send_raw(self, data: bytes) -> None:
        self._socket.sendall(data)

    def receive(self) -> Answer:
        """The next answer, when it is whole."""
        while (end := self._received.find(_END)) < 0:
            self._read()
        head = self._received[: end + 2]
        headers = {name.lower(): value for name, value in _HEADER.findall(head)}
        length = end + len(_END) + int(headers[b"content-length"])
        while len(self._received) < length:
            self._read()
        body, self._received = self._received[end + len(_END) : length], self._received[length:]
        return Answer(int(head.split(b" ", 2)[1]), headers, body)

    def _read(self) -> None:
        data = self._socket.recv(65536)
        if not data:
            raise ConnectionResetError("closed before the answer was whole")
        self._received += data
