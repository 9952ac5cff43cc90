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
REPLICAS = "KURZ_DATABASE_REPLICA_URLS"
PORT = 5432
_ASK_SECONDS = 2.0
_STANDBY = "it is a standby, which accepts no writes"
_ROLE = "SELECT pg_is_in_recovery(), current_setting('transaction_read_only') = 'on'"
# By SQLSTATE: the cause, and what to do about it.
_CAUSES = {
    "28P01": ("it rejected the password", "Check the role and the password in {setting}."),
    "28000": (
        "it does not let this role connect from here",
        "Check the role in {setting}, and pg_hba.conf on the server.",
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


async def why_unusable(url: str, setting: str = SETTING) -> str | None:
    """Connects to each host that the address names. None if one of them can be used; as the primary
    only one that accepts writes."""
    urls = each_host(url)
    failures = await asyncio.gather(*(_failure(item, setting) for item in urls))
    if None in failures:
        return None
    found = [
        (where(item), failure) for item, failure in zip(urls, failures, strict=True) if failure
    ]
    causes = "; ".join(f"{place}: {failure.cause}" for place, failure in found)
    failed = [failure for _, failure in found]
    most_useful = next((it for it in failed if it.cause == _STANDBY), failed[-1])
    advice = most_useful.advice.format(setting=setting)
    return f"PostgreSQL cannot be used at {causes}. {advice}"


def where(url: str) -> str:
    """Host and port, without the account."""
    _, hosts, rest = split_hosts(url)
    query = parse_qs(rest.query)
    host = hosts[0] or query.get("host", [""])[0]
    if not host or host.startswith("/"):
        return host or "the local socket"
    has_port = ":" in host.rpartition("]")[2]
    return host if has_port else f"{host}:{query.get('port', [str(PORT)])[0]}"


def where_all(url: str) -> str:
    """The same of each host that the address names."""
    return ", ".join(map(where, each_host(url)))


async def _failure(url: str, setting: str) -> _Failure | None:
    try:
        connection = await PostgresHosts(url, is_replica=setting == REPLICAS).connect()
    except SettingRefused:
        raise
    except Exception as error:  # noqa: BLE001  whatever it is, it is why
        return _explain(error, url)
    try:
        async with asyncio.timeout(_ASK_SECONDS):
            is_standby, is_read_only = await connection.fetchrow(_ROLE)
    except Exception as error:  # noqa: BLE001
        return _explain(error, url)
    finally:
        connection.terminate()
    return None if setting == REPLICAS else _no_writes(is_standby, is_read_only)


def _no_writes(is_standby: bool, is_read_only: bool) -> _Failure | None:  # noqa: FBT001
    if is_standby:
        advice = "Promote a standby, or name the primary in {setting}."
        return _Failure(_STANDBY, advice)
    if is_read_only:
        advice = "Turn default_transaction_read_only off for the server, the database and the role."
        return _Failure("it is read-only", advice)
    return None


def _explain(error: Exception, url: str) -> _Failure:
    state = getattr(error, "sqlstate", None)
    correct = "correct {setting}."
    if state == "3D000":
        name = unquote(split_hosts(url).rest.path.removeprefix("/"))
        missing = f"it has no database “{name}”" if name else "it does not have this database"
        return _Failure(missing, f"Create it, or {correct}")
    if state in _CAUSES:
        return _Failure(*_CAUSES[state])
    if isinstance(error, ConnectionError) and "SSL upgrade" in str(error):
        return _Failure(
            "it does not offer TLS", "Turn it on there, or change sslmode in {setting}."
        )
    if isinstance(error, asyncpg.PostgresError):
        return _Failure(f"it answered with the error {state}", "Look at its log.")
    cause = cause_of(error) or type(error).__name__
    if isinstance(error, socket.gaierror):
        return _Failure(cause, "Correct the host in {setting}.")
    return _Failure(cause, "Check that PostgreSQL runs there, or correct the address in {setting}.")
