"""Addresses of Redis: of one server, of Sentinels that know which server it is, or of a Cluster."""

from dataclasses import dataclass
from enum import StrEnum
from urllib.parse import SplitResult, parse_qsl, unquote, urlencode, urlsplit

from kurz.many_hosts import split_hosts

HostPort = tuple[str, int]  # host and port

PORT = 6379
SENTINEL_PORT = 26379
EXAMPLES = (
    "must be a Redis address: redis://host:6379/0, unix:///run/redis.sock,"
    " redis+sentinel://host:26379,host:26379/service or redis+cluster://host:6379,host:6379"
)
DATABASE = "must have a number as its database"


class RedisKind(StrEnum):
    SERVER = "server"
    SENTINEL = "sentinel"
    CLUSTER = "cluster"


SCHEMES = {
    "redis": RedisKind.SERVER,
    "rediss": RedisKind.SERVER,
    "unix": RedisKind.SERVER,
    "redis+sentinel": RedisKind.SENTINEL,
    "rediss+sentinel": RedisKind.SENTINEL,
    "redis+cluster": RedisKind.CLUSTER,
    "rediss+cluster": RedisKind.CLUSTER,
}

SSL_OPTIONS = ("ssl_ca_certs", "ssl_certfile", "ssl_keyfile", "ssl_cert_reqs", "ssl_check_hostname")
FILE_OPTIONS = ("ssl_ca_certs", "ssl_certfile", "ssl_keyfile")
VALUES = {
    "ssl_cert_reqs": ("required", "optional", "none"),
    "ssl_check_hostname": ("true", "false", "yes", "no", "1", "0"),
}
SENTINEL_OPTIONS = {"sentinel_username": "username", "sentinel_password": "password"}
OPTIONS = {
    RedisKind.SERVER: ("db", "username", "password", *SSL_OPTIONS),
    RedisKind.SENTINEL: (*SENTINEL_OPTIONS, *SSL_OPTIONS),
    RedisKind.CLUSTER: SSL_OPTIONS,
}


@dataclass(frozen=True, slots=True)
class RedisAddress:
    """`url` is the address of one server; the others have `hosts`, which are asked for servers."""

    kind: RedisKind
    url: str
    hosts: tuple[HostPort, ...] = ()
    service: str = ""
    database: str = ""
    options: tuple[tuple[str, str], ...] = ()

    def url_of(self, host_port: HostPort) -> str:
        """The options for a server that Sentinels or a Cluster named."""
        options = [item for item in self.options if item[0] in SSL_OPTIONS]
        return self._url(split_hosts(self.url).account, host_port, self.database, options)

    def url_of_sentinel(self, host_port: HostPort) -> str:
        """Sentinels have their own passwords, or none."""
        options = [(SENTINEL_OPTIONS.get(name, name), value) for name, value in self.options]
        return self._url("", host_port, "", options)

    def _url(
        self, credentials: str, host_port: HostPort, database: str, options: list[tuple[str, str]]
    ) -> str:
        scheme = self.url.partition("+")[0]
        host = f"[{host_port[0]}]" if ":" in host_port[0] else host_port[0]
        query = f"?{urlencode(options)}" if options else ""
        return f"{scheme}://{credentials}{host}:{host_port[1]}/{database}{query}"


def parse(url: str) -> RedisAddress:
    """Raises ValueError with what is wrong, but never with the address, which may hold a
    password."""
    try:
        _, hosts, parts = split_hosts(url)
        kind = SCHEMES[parts.scheme]
        host_ports = _host_ports(kind, hosts, parts)
    except (KeyError, ValueError):
        raise ValueError(EXAMPLES) from None
    if parts.fragment or not url.isprintable() or " " in url:
        raise ValueError(EXAMPLES)
    service, database = _path(kind, parts)
    options = tuple(parse_qsl(parts.query, keep_blank_values=True))
    _check(kind, database, options)
    return RedisAddress(kind, url, host_ports, service, database, options)


def _host_ports(kind: RedisKind, hosts: list[str], parts: SplitResult) -> tuple[HostPort, ...]:
    """The hosts to ask for servers; a single server must be parsable too."""
    if parts.scheme == "unix":
        if not parts.path:
            raise ValueError
        return ()
    default_port = SENTINEL_PORT if kind is RedisKind.SENTINEL else PORT
    found = [urlsplit(f"//{host}") for host in hosts]
    host_ports = tuple((item.hostname or "", item.port or default_port) for item in found)
    if kind is RedisKind.SERVER:
        if len(host_ports) > 1:
            raise ValueError
        return ()
    if not all(host for host, _ in host_ports):
        raise ValueError
    return host_ports


def _path(kind: RedisKind, parts: SplitResult) -> tuple[str, str]:
    """The service and the number of the database."""
    path = parts.path.removeprefix("/")
    if kind is RedisKind.CLUSTER:
        if path not in ("", "0"):
            raise ValueError("must not name a database: a Redis Cluster has only one")
        return "", ""
    if kind is RedisKind.SENTINEL:
        service, _, database = path.partition("/")
        if not service:
            raise ValueError(
                "must name the service that Sentinel monitors: redis+sentinel://host:26379/service"
            )
        return unquote(service), database
    return "", "" if parts.scheme == "unix" else path


def _check(kind: RedisKind, database: str, options: tuple[tuple[str, str], ...]) -> None:
    if any(name not in OPTIONS[kind] for name, _ in options):
        raise ValueError(f"can only have these options: {', '.join(OPTIONS[kind])}")
    for name, value in options:
        if name in VALUES and value.lower() not in VALUES[name]:
            raise ValueError(f"must have {name} as one of: {', '.join(VALUES[name])}")
    numbers = [database or "0", *(value for name, value in options if name == "db")]
    if not all(number.isascii() and number.isdigit() for number in numbers):
        raise ValueError(DATABASE)
