"""Real Valkey servers for tests: one alone, a cluster, and a pair that sentinels watch."""

import signal
import socket
from collections import defaultdict
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from servers.binaries import hand_over, valkey_server
from servers.group import ServerGroup
from servers.process import HOST, Server, ServerError, free_port
from servers.resp import Replies

SLOTS = 16_384
# Short, so that a failover takes about two seconds.
DOWN_AFTER_MILLISECONDS = "1000"
SERVICE = "kurz"


class ValkeyServer(Server):
    """Valkey that keeps everything in memory: a kill forgets it all.

    Keyword arguments are settings of valkey.conf, with `_` for `-`.
    """

    stop_signal = signal.SIGTERM
    orphan_signal = signal.SIGKILL

    def __init__(self, **options: str) -> None:
        super().__init__()
        self._options = {
            "bind": HOST,
            "save": "",
            "appendonly": "no",
            # Nobody waits for a replica that is late, at a start or at the end.
            "repl-diskless-sync-delay": "0",
            "shutdown-timeout": "0",
            **{name.replace("_", "-"): value for name, value in options.items()},
        }

    @property
    def url(self) -> str:
        """The address of the first database."""
        return f"redis://{HOST}:{self.port}/0"

    def ask(self, command: str, timeout_seconds: float = 5) -> str:
        """The raw reply to a command; an error is raised."""
        replies, whole = Replies(), list[bytes]()
        with socket.create_connection((HOST, self.port), timeout_seconds) as connection:
            connection.sendall(f"{command}\r\n".encode())
            while not whole:
                chunk = connection.recv(65_536)
                if not chunk:
                    raise ServerError(f"no reply to {command}")
                whole = replies.feed(chunk)
        reply = whole[0].decode()
        if reply.startswith("-"):
            raise ServerError(f"{command}: {reply.strip()}")
        return reply

    def _prepare(self) -> None:
        """Valkey needs nothing."""

    def _command(self) -> Sequence[str | Path]:
        options = {**self._options, "port": str(self.port)}
        flags = [part for name, value in options.items() for part in (f"--{name}", value)]
        return [valkey_server(), *flags]

    def _answers(self) -> bool:
        try:
            return f"process_id:{self.pid}\r\n" in self.ask("INFO server", timeout_seconds=1)
        except (OSError, ServerError):
            return False


class ValkeyCluster(ServerGroup):
    """Three masters with a replica each, which takes the place of a killed master after about two
    seconds. Once the others have noticed, the whole cluster refuses commands until then."""

    def __init__(self, **options: str) -> None:
        self.servers: list[_ClusterNode] = [_ClusterNode(options) for _ in range(6)]

    @property
    def url(self) -> str:
        return f"redis+cluster://{_addresses(self.servers)}"

    def masters(self) -> list[ValkeyServer]:
        """The running servers that own slots, as the first running one has heard."""
        running = {server.port: server for server in self.servers if server.is_running}
        nodes = next(iter(running.values())).ask("CLUSTER NODES").splitlines()
        owners = [fields for fields in map(str.split, nodes) if len(fields) > 8]
        ports = [int(address.split("@")[0].split(":")[1]) for _, address, *_ in owners]
        return [running[port] for port in ports if port in running]

    def kill_master(self) -> ValkeyServer:
        """Kills a server that owns slots."""
        master = self.masters()[0]
        master.kill()
        return master

    def is_whole(self) -> bool:
        """Whether running servers own all slots, all of them have heard so, and every replica has
        the data of its master."""
        return len(self.masters()) == 3 and all(
            "cluster_state:ok" in server.ask("CLUSTER INFO")
            and "master_link_status:down" not in server.ask("INFO replication")
            for server in self.servers
            if server.is_running
        )

    def _join(self) -> None:
        masters, replicas = self.servers[:3], self.servers[3:]
        for number, server in enumerate(self.servers):
            server.ask(f"CLUSTER SET-CONFIG-EPOCH {number + 1}")
            # All are introduced to all, as gossip would take seconds.
            for other in self.servers[:number]:
                server.ask(f"CLUSTER MEET {HOST} {other.port} {other.bus_port}")
        for number, master in enumerate(masters):
            first, end = (SLOTS * edge // len(masters) for edge in (number, number + 1))
            master.ask(f"CLUSTER ADDSLOTSRANGE {first} {end - 1}")
        for master, replica in zip(masters, replicas, strict=True):
            name = master.ask("CLUSTER MYID").split()[1]
            self._wait("the meeting", partial(replica.knows, name))
            replica.ask(f"CLUSTER REPLICATE {name}")
        self._wait("the cluster", self.is_whole)


class ValkeySentinels(ServerGroup):
    """A master with a replica, and three sentinels that promote the replica about three seconds
    after the master was killed."""

    def __init__(self, **options: str) -> None:
        self.data_servers = [ValkeyServer(**options) for _ in range(2)]
        self.sentinels = [_Sentinel() for _ in range(3)]
        self.servers = [*self.data_servers, *self.sentinels]

    @property
    def url(self) -> str:
        return f"redis+sentinel://{_addresses(self.sentinels)}/{SERVICE}/0"

    def master(self) -> ValkeyServer:
        """The master by the word of the first running sentinel."""
        sentinel = next(server for server in self.sentinels if server.is_running)
        port = int(sentinel.ask(f"SENTINEL GET-MASTER-ADDR-BY-NAME {SERVICE}").split()[-1])
        return next(server for server in self.data_servers if server.port == port)

    def kill_master(self) -> ValkeyServer:
        master = self.master()
        master.kill()
        return master

    def _join(self) -> None:
        master, replica = self.data_servers
        replica.ask(f"REPLICAOF {HOST} {master.port}")
        self._wait("the copy", lambda: "master_link_status:up" in replica.ask("INFO replication"))
        for sentinel in self.sentinels:
            sentinel.ask("SENTINEL DEBUG PUBLISH-PERIOD 100")  # they find each other at once
            sentinel.ask(f"SENTINEL MONITOR {SERVICE} {HOST} {master.port} 2")
            sentinel.ask(
                f"SENTINEL SET {SERVICE} down-after-milliseconds {DOWN_AFTER_MILLISECONDS}"
            )
        known = f"status=ok,address={HOST}:{master.port},slaves=1,sentinels=3"
        self._wait("the watch", lambda: all(known in each for each in self._views()))

    def _views(self) -> list[str]:
        return [sentinel.ask("INFO sentinel") for sentinel in self.sentinels]


class _ClusterNode(ValkeyServer):
    def __init__(self, options: dict[str, str]) -> None:
        super().__init__(
            **options,
            cluster_enabled="yes",
            cluster_node_timeout=DOWN_AFTER_MILLISECONDS,
            cluster_allow_replica_migration="no",
        )
        self._bus_ports: defaultdict[int, int] = defaultdict(free_port)

    @property
    def bus_port(self) -> int:
        """Where nodes talk to each other; another one for each port that is tried."""
        return self._bus_ports[self.port]

    def knows(self, name: str) -> bool:
        return name in self.ask("CLUSTER NODES")

    def _command(self) -> Sequence[str | Path]:
        return [*super()._command(), "--cluster-port", str(self.bus_port)]


class _Sentinel(ValkeyServer):
    @property
    def _file(self) -> Path:
        """Where a sentinel writes down whom it watches."""
        return self.folder / "sentinel.conf"

    def _prepare(self) -> None:
        self._file.touch()
        hand_over(self._file)

    def _command(self) -> Sequence[str | Path]:
        address = ["--port", str(self.port), "--bind", HOST]
        return [valkey_server(), self._file, "--sentinel", *address]


def _addresses(servers: Sequence[Server]) -> str:
    return ",".join(f"{HOST}:{server.port}" for server in servers)
