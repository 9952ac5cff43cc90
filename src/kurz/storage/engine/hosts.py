"""Connections to PostgreSQL, under an address that may name several hosts."""

import asyncio
from collections.abc import Mapping
from urllib.parse import parse_qs

import asyncpg

from kurz import __version__
from kurz.errors import SettingRefused
from kurz.many_hosts import split_hosts

CONNECT_SECONDS = 2.0
APPLICATION = f"kurz {__version__}"  # in pg_stat_activity, which `schema_state` reads
NEXT_HOST_SECONDS = 0.1  # how long a host is tried alone before the next one is tried too


class PostgresHosts:
    """`url` is an address in libpq's form, with all options that asyncpg supports (sslmode). Of
    several hosts, the writable one is used, or for a replica one that follows it, unless the
    address asks for another. `wanted` is a value of `target_session_attrs`; it overrides that, also
    for a single host."""

    def __init__(
        self,
        url: str,
        *,
        is_replica: bool = False,
        wanted: str | None = None,
        connect_seconds: float = CONNECT_SECONDS,
    ) -> None:
        self._connect_seconds = connect_seconds
        self._urls = each_host(url)
        self._setting = "KURZ_DATABASE_REPLICA_URLS" if is_replica else "KURZ_DATABASE_URL"
        self._wanted = wanted
        is_named = "application_name" in _options(url)
        self._session = {} if is_named else {"application_name": APPLICATION}
        if wanted is None and len(self._urls) > 1 and "target_session_attrs" not in _options(url):
            self._wanted = "standby" if is_replica else "read-write"

    async def connect(self, session: Mapping[str, str] | None = None) -> asyncpg.Connection:
        """Connects to the first host that answers, starting with the last one that did. `session`
        are settings of PostgreSQL. A host that drops all packets delays nothing: hosts are tried in
        parallel, each a little later than the one before."""
        untried = list(self._urls)
        attempts: dict[asyncio.Task[asyncpg.Connection], str] = {}
        error: BaseException | None = None
        try:
            while untried or attempts:
                if untried:
                    url = untried.pop(0)
                    attempts[asyncio.create_task(self._connect(url, session))] = url
                done, _ = await asyncio.wait(
                    attempts,
                    timeout=NEXT_HOST_SECONDS if untried else None,
                    return_when=asyncio.FIRST_COMPLETED,
                )
                for attempt in done:
                    error = _more_telling(error, attempt.exception())
                    if attempt.exception() is None:
                        self._prefer(attempts.pop(attempt))
                        return attempt.result()
                    del attempts[attempt]
        finally:
            for attempt in attempts:
                attempt.add_done_callback(_hang_up)
                attempt.cancel()
        raise error or ConnectionError

    async def _connect(self, url: str, session: Mapping[str, str] | None) -> asyncpg.Connection:
        try:
            return await asyncpg.connect(
                url,
                timeout=self._connect_seconds,
                target_session_attrs=self._wanted,
                server_settings={**self._session, **(session or {})},
            )
        except OSError:  # a refused certificate is both an OSError and a ValueError
            raise
        except ValueError:  # its text may contain a part of the address
            raise SettingRefused(f"{self._setting} is not a valid PostgreSQL address.") from None

    def _prefer(self, url: str) -> None:
        self._urls.remove(url)
        self._urls.insert(0, url)


def each_host(url: str) -> list[str]:
    """One address for each host: asyncpg itself would wait for the first host for the whole
    time."""
    account, hosts, rest = split_hosts(url)
    if len(hosts) == 1:
        return [url]  # unchanged: without a host, it would lose two of its slashes
    return [rest._replace(netloc=account + host).geturl() for host in hosts]


def _options(url: str) -> dict[str, list[str]]:
    return parse_qs(split_hosts(url).rest.query)


def _more_telling(one: BaseException | None, other: BaseException | None) -> BaseException | None:
    """A server's own error says more than another server's silence."""
    return one if other is None or (one and isinstance(other, OSError)) else other


def _hang_up(attempt: asyncio.Task[asyncpg.Connection]) -> None:
    """Closes a connection that came too late."""
    if not attempt.cancelled() and attempt.exception() is None:
        attempt.result().terminate()
