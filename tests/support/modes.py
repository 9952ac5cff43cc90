"""The four modes of traffic in which redirects are measured (`make bench-redirect`)."""

import sys
from typing import NamedTuple

BROWSER = "Mozilla/5.0 (X11; Linux x86_64; rv:144.0) Gecko/20100101 Firefox/144.0"


class Mode(NamedTuple):
    """`varies`: each request comes from another visitor. A connection ends after
    `per_connection` requests."""

    name: str
    varies: bool = True
    per_connection: int = sys.maxsize
    version: str = "1.1"

    def __str__(self) -> str:
        return self.name

    @property
    def keeps(self) -> bool:
        return self.per_connection > 1

    def request(self, path: str, visitor: int, *fields: str, host: str = "localhost") -> bytes:
        """As a browser sends it, through a proxy on this machine."""
        lines = [
            f"GET {path} HTTP/{self.version}",
            f"Host: {host}",
            f"X-Forwarded-For: 192.0.2.{visitor % 250}",
            f"X-Request-Id: {visitor}",
            *(["Connection: close"] if self.version == "1.0" else []),
            f"User-Agent: {BROWSER}",
            "Accept: text/html,*/*;q=0.8",
            "Accept-Language: de,en;q=0.7",
            *fields,
        ]
        return "".join(f"{line}\r\n" for line in [*lines, ""]).encode()


A = Mode("a", varies=False)
B = Mode("b")
C = Mode("c", per_connection=1, version="1.0")
D = Mode("d", per_connection=1)
MODES = (A, B, C, D)
