"""Why PostgreSQL cannot be used: for the operator, who sees its address, not for visitors."""

import asyncio
import socket
from typing import NamedTuple
from urllib.parse import parse_qs, unquote

import asyncpg

from kurz.errors import SettingRefused
from kurz.many_hosts import split_hosts
from kurz.network_errors import cause_of
from kurz.storage.engine.errors import FORBIDDEN_STATE
from kurz.storage.engine.hosts import PostgresHosts, each_host

SETTING = "KURZ_DATABASE_URL"
PORT = 5432
_ADDRESS = f"Check that PostgreSQL runs there, or correct the address in {SETTING}."
# By SQLSTATE: the cause, and what to do about it.
_CAUSES = {
    "28P01": ("it rejected the password", f"Check the role and the password in {SETTING}."),
    "28000": (
        "it does not let this role connect from here",
        f"Check the role in {SETTING}, and pg_hba.conf on the server.",
    ),
    FORBIDDEN_STATE: (
        "the role may not connect to this database",
        "Grant it the privilege CONNECT, or make it the owner of the database.",
    ),
    "53300": ("it has too many connections", "Raise its max_connections."),
    "57P03": ("it is starting or shutting down", "Try again."),
}


class _Failure(NamedTuple):
    cause: str
    advice: str


async def why_unusable(url: str) -> str | None:
    """Connects to each host that the address names. None if one of them lets us in."""
    urls = each_host(url)
    failures = await asyncio.gather(*map(_failure, urls))
    if None in failures:
        return None
    found = [
        (where(item), failure) for item, failure in zip(urls, failures, strict=True) if failure
    ]
    causes = "; ".join(f"{place}: {failure.cause}" for place, failure in found)
    return f"PostgreSQL cannot be used at {causes}. {found[-1][1].advice}"


def where(url: str) -> str:
    """Host and port, without the account."""
    _, hosts, rest = split_hosts(url)
    query = parse_qs(rest.query)
    host = hosts[0] or query.get("host", [""])[0]
    if not host or host.startswith("/"):
        return host or "the local socket"
    has_port = ":" in host.rpartition("]")[2]
    return host if has_port else f"{host}:{query.get('port', [str(PORT)])[0]}"


async def _failure(url: str) -> _Failure | None:
    try:
        connection = await PostgresHosts(url).connect()
    except SettingRefused:
        raise
    except Exception as error:  # noqa: BLE001  whatever it is, it is why
        return _explain(error, url)
    connection.terminate()
    return None


def _explain(error: Exception, url: str) -> _Failure:
    state = getattr(error, "sqlstate", None)
    if state == "3D000":
        name = unquote(split_hosts(url).rest.path.removeprefix("/"))
        missing = f"it has no database “{name}”" if name else "it does not have this database"
        return _Failure(missing, f"Create it, or correct {SETTING}.")
    if state in _CAUSES:
        return _Failure(*_CAUSES[state])
    if isinstance(error, ConnectionError) and "SSL upgrade" in str(error):
        return _Failure(
            "it does not offer TLS", f"Turn it on there, or change sslmode in {SETTING}."
        )
    if isinstance(error, asyncpg.PostgresError):
        return _Failure(f"it answered with the error {state}", "Look at its log.")
    cause = cause_of(error) or type(error).__name__
    is_name = isinstance(error, socket.gaierror)
    return _Failure(cause, f"Correct the host in {SETTING}." if is_name else _ADDRESS)
