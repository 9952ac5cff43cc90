"""What `kurz doctor` finds about connections: to the server, and to Redis."""

import asyncio
import socket
from typing import TYPE_CHECKING

from kurz.cli import finding
from kurz.cli.finding import DoctorFinding
from kurz.errors import SettingRefused
from kurz.redis_url import RedisKind
from kurz.server.listening import UNIX, check
from kurz.server.proxy_note import ProxyNote
from kurz.settings.model import Settings
from kurz.wiring.engine import Engine

if TYPE_CHECKING:
    from kurz.people.limits import LimitsUnavailable

REDIS_SECONDS = 2.0  # many times what kurz itself would wait
REDIS_KEYS = 16  # on every server of a usual Cluster
ASK_SECONDS = 2.0
MAX_ANSWER_BYTES = 4096
_QUESTION = b"GET /healthz HTTP/1.0\r\nHost: localhost\r\n\r\n"
_REDIS_KINDS = {
    RedisKind.SERVER: "a single server",
    RedisKind.SENTINEL: "the master named by Sentinel",
    RedisKind.CLUSTER: "a cluster",
}


def address(engine: Engine) -> DoctorFinding:
    """Whether kurz can listen there, or does so already."""
    host, port = engine.settings.host, engine.settings.port
    place = host if host.startswith(UNIX) else f"{host}:{port}"
    try:
        check(host, port)
    except SettingRefused as refusal:
        if not _is_kurz(host, port):
            return finding.error("address", refusal.detail)
        if engine.has_listeners():
            return finding.ok("address", f"kurz is running on {place}")
        return finding.error("address", f"{refusal.detail} Another kurz server uses it.")
    return finding.ok("address", f"{place} is free")


def _is_kurz(host: str, port: int) -> bool:
    """Whether a server there answers like kurz."""
    try:
        with _connect(host, port) as connection:
            connection.sendall(_QUESTION)
            answer = b""
            while len(answer) < MAX_ANSWER_BYTES and (piece := connection.recv(MAX_ANSWER_BYTES)):
                answer += piece
    except (OSError, UnicodeError):
        return False
    head, _, body = answer.partition(b"\r\n\r\n")
    return b"x-request-id:" in head.lower() and body == b'{"status":"ok"}'


def _connect(host: str, port: int) -> socket.socket:
    if not host.startswith(UNIX):
        return socket.create_connection((host, port), ASK_SECONDS)
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.settimeout(ASK_SECONDS)
    try:
        connection.connect(host.removeprefix(UNIX))
    except OSError:
        connection.close()
        raise
    return connection


def proxy(settings: Settings) -> list[DoctorFinding]:
    """What the server has noticed since its start."""
    noticed = ProxyNote(settings.proxy_note_path).read()
    return [] if noticed is None else [finding.warning("proxy", noticed)]


def redis(settings: Settings) -> list[DoctorFinding]:
    """Whether it can do its work, and what is lost if not. kurz also runs without it."""
    if settings.redis_url is None:
        return []
    from kurz.cache.connect import open_redis
    from kurz.cache.limits import RedisLimits
    from kurz.people.limits import LimitsUnavailable, hashing
    from kurz.rates import Rate

    async def try_it(url: str) -> RedisKind:
        client = open_redis(url, timeout_seconds=REDIS_SECONDS)
        try:
            limits = RedisLimits(client, hashing(b"doctor"))
            for number in range(REDIS_KEYS):
                await limits.hit(f"doctor {number}", Rate(1000, 1))
            return client.kind
        finally:
            await client.close()

    try:
        kind = asyncio.run(try_it(settings.redis_url))
    except LimitsUnavailable as failure:
        return [_without_redis(settings.redis_url, failure)]
    return [finding.ok("Redis", f"{_REDIS_KINDS[kind]} is reachable")]


def _without_redis(url: str, failure: "LimitsUnavailable") -> DoctorFinding:
    from kurz.cache.diagnosis import why_unusable

    says = (
        f"{why_unusable(url, failure)} kurz runs without it: each process counts rate limits on"
        " its own, links are looked up in the database, and changes arrive up to a second later."
    )
    return finding.warning("Redis", says)
