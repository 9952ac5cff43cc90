"""Opens clients of Redis or Valkey: of one server, through Sentinels, or of a Cluster."""

from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

from kurz.cache.client import RedisClient
from kurz.cache.pool import Pool
from kurz.cache.topology import LOST, Cluster, OneServer, Sentinels, Topology
from kurz.redis_url import HostPort, RedisAddress, RedisKind, parse

TIMEOUT_SECONDS = 0.05  # of a command with all its steps: a name, a connection, an answer
CONNECTIONS = 4  # to each server; 50 commands at once take 10 ms, even with more connections


def open_redis(
    url: str, *, timeout_seconds: float = TIMEOUT_SECONDS, connections: int = CONNECTIONS
) -> RedisClient:
    """Nothing is connected before the first command."""
    address = parse(url)
    return RedisClient(
        address.kind, open_topology(address, timeout_seconds, connections), timeout_seconds
    )


def open_topology(address: RedisAddress, timeout_seconds: float, connections: int) -> Topology:
    def open_server(host_port: HostPort) -> Redis:
        return _open(address.url_of(host_port), timeout_seconds, connections)

    if address.kind is RedisKind.SENTINEL:
        sentinels = [
            _open(address.url_of_sentinel(host_port), timeout_seconds, 1)
            for host_port in address.hosts
        ]
        return Sentinels(sentinels, address.service, open_server)
    if address.kind is RedisKind.CLUSTER:
        return Cluster(address.hosts, open_server)
    return OneServer(_open(address.url, timeout_seconds, connections))


def _open(url: str, timeout_seconds: float, connections: int) -> Redis:
    pool = Pool.from_url(
        url,
        max_connections=connections,
        # The caller has its own timeout around everything; one for each step would cost a tenth of
        # the CPU time of a command.
        socket_timeout=None,
        socket_connect_timeout=timeout_seconds,
        protocol=2,  # this and the next save a new connection three round trips
        driver_info=None,
        # One retry, for a connection that was lost while idle. A slow answer is not retried.
        retry=Retry(NoBackoff(), 1, supported_errors=LOST),  # type: ignore[arg-type]
    )
    return Redis.from_pool(pool)
