"""Servers that work together: a replica takes the place of what was killed, and nothing that was
acknowledged is lost where that is promised."""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import suppress

import pytest
from redis.cluster import ClusterNode, RedisCluster
from redis.sentinel import MasterNotFoundError, Sentinel

from servers.postgres import PostgresPair
from servers.process import HOST, ServerError
from servers.valkey import SERVICE, ValkeyCluster, ValkeySentinels, ValkeyServer

pytestmark = pytest.mark.long  # servers of the tests themselves


def wait_until(happened: Callable[[], bool], seconds: float = 20) -> None:
    deadline = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def addresses(url: str) -> list[tuple[str, int]]:
    """The hosts and ports of an address with many."""
    pairs = [pair.split(":") for pair in url.split("/")[2].split(",")]
    return [(host, int(port)) for host, port in pairs]


def find_master(sentinel: Sentinel) -> tuple[str, int] | None:
    """What a client is told; None while the sentinels are about it."""
    with suppress(MasterNotFoundError):
        host, port = sentinel.discover_master(SERVICE)  # type: ignore[no-untyped-call]
        return host, port
    return None


def size_of(server: ValkeyServer) -> int:
    return int(server.ask("DBSIZE")[1:])


@pytest.fixture(scope="module")
def pair() -> Iterator[PostgresPair]:
    """One synchronous pair for the tests that leave it as it was."""
    with PostgresPair() as pair:
        yield pair


def test_a_cluster_survives_the_kill_of_a_master():
    with ValkeyCluster() as cluster:
        assert len(addresses(cluster.url)) == 6
        nodes = [ClusterNode(*address) for address in addresses(cluster.url)]  # type: ignore[no-untyped-call]
        keys = [f"key-{number}" for number in range(50)]
        with RedisCluster(startup_nodes=nodes) as client:
            for key in keys:
                client.set(key, key)
        assert all(size_of(master) > 0 for master in cluster.masters())
        wait_until(lambda: sum(map(size_of, cluster.servers)) == 2 * len(keys))
        killed = cluster.kill_master()
        assert not cluster.is_whole()
        wait_until(cluster.is_whole)
        assert killed not in cluster.masters()
        with RedisCluster(startup_nodes=nodes) as client:
            assert [client.get(key) for key in keys] == [key.encode() for key in keys]
        killed.start()
        wait_until(lambda: "role:slave" in killed.ask("INFO replication"))
    assert not any(server.folder.exists() for server in cluster.servers)


def test_sentinels_promote_the_replica_of_a_killed_master():
    with ValkeySentinels() as watched:
        sentinel = Sentinel(addresses(watched.url))  # type: ignore[no-untyped-call]
        assert find_master(sentinel) == (HOST, watched.master().port)
        watched.master().ask("SET key value")
        wait_until(lambda: all(size_of(server) == 1 for server in watched.data_servers))
        killed = watched.kill_master()
        wait_until(lambda: watched.master() is not killed)
        promoted = watched.master()
        assert promoted.ask("GET key") == "$5\r\nvalue\r\n"
        assert promoted.ask("SET key other") == "+OK\r\n"
        wait_until(lambda: find_master(sentinel) == (HOST, promoted.port))
        for connection in sentinel.sentinels:
            connection.close()


def test_a_promoted_standby_has_every_acknowledged_row():
    with PostgresPair() as pair:
        pair.primary.ask("CREATE TABLE t (n int)")
        # Received is enough for an acknowledgement: the standby shows nothing of these yet.
        pair.catch_up()
        pair.standby.pause_replay()
        for _ in range(20):
            pair.primary.ask("INSERT INTO t VALUES (1)")
        pair.primary.kill()
        assert pair.standby.ask("SELECT count(*) FROM t") == "0"
        pair.standby.promote()
        assert pair.standby.ask("SELECT count(*) FROM t") == "20"
        pair.standby.ask("INSERT INTO t VALUES (1)")
    assert not any(server.folder.exists() for server in pair.servers)


def test_a_synchronous_commit_waits_for_the_standby(pair):
    pair.primary.ask("CREATE TABLE waits (n int)")
    pair.standby.kill()
    with ThreadPoolExecutor() as pool:
        insert = pool.submit(pair.primary.ask, "INSERT INTO waits VALUES (1)")
        waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
        wait_until(lambda: pair.primary.ask(waiting) == "1")
        assert not insert.done()
        pair.standby.start()
        assert insert.result(timeout=20) == "INSERT 0 1"


def test_a_paused_replica_is_behind_until_it_resumes(pair):
    pair.primary.ask("CREATE TABLE lagging (n int)")
    pair.catch_up()
    pair.standby.pause_replay()
    pair.primary.ask("INSERT INTO lagging VALUES (1)")
    assert pair.standby.ask("SELECT count(*) FROM lagging") == "0"
    with ThreadPoolExecutor() as pool:
        catching_up = pool.submit(pair.catch_up)
        assert not wait([catching_up], timeout=0.2).done
        pair.standby.resume_replay()
        catching_up.result(timeout=20)
    assert pair.standby.ask("SELECT count(*) FROM lagging") == "1"


def test_a_standby_refuses_writes(pair):
    with pytest.raises(ServerError, match="read-only transaction"):
        pair.standby.ask("CREATE TABLE t (n int)")


def test_an_asynchronous_pair_commits_without_its_standby():
    with PostgresPair(synchronous=False) as pair:
        pair.standby.kill()
        pair.primary.ask("CREATE TABLE t (n int)")
        pair.standby.start()
        pair.catch_up()
        assert pair.standby.ask("SELECT count(*) FROM t") == "0"
