"""The servers that `redirect.py` compares, on free ports of this machine."""

import contextlib
import os
import re
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

import redis

HERE = Path(__file__).parent
sys.path.append(str(HERE.parent / "tests"))  # the servers that the tests use

from servers.postgres import PostgresServer  # noqa: E402
from servers.valkey import ValkeyServer  # noqa: E402

TICKS = os.sysconf("SC_CLK_TCK")
KURZ = (sys.executable, "-m", "kurz")
UNRECORDED = (sys.executable, str(HERE / "unrecorded.py"))
NGINX = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin:/usr/local/sbin")
STOP_SECONDS = 30
LOOK_SECONDS = 1.5
IDLE_SHARE = 0.02  # of a core, for looking whether there is something to do

# An answer as long as kurz's. Without keepalive_requests nginx would close every connection after
# 1000 requests, which kurz does not.
NGINX_CONFIGURATION = """
daemon off; worker_processes 1; pid nginx.pid; error_log stderr;
events {{ worker_connections 1024; }}
http {{
  keepalive_requests 1000000000; keepalive_timeout 60s; access_log off;
  client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi;
  uwsgi_temp_path uwsgi; scgi_temp_path scgi;
  server {{ listen 127.0.0.1:{plain}; location / {{ return 302 {url}; }} }}
  server {{
    listen 127.0.0.1:{logging}; access_log access.log combined buffer=64k flush=1s;
    location / {{ return 302 {url}; }}
  }}
}}
"""


@dataclass(frozen=True)
class Server:
    port: int
    pid: int
    data: Path | None = None
    jobs_pid: int | None = None

    def processes(self) -> Collection[int]:
        return tree(self.pid)

    def cpu_seconds(self) -> float:
        """Of all its processes, so far."""
        return sum(map(_cpu_seconds, self.processes()))

    def jobs_seconds(self) -> float:
        """Of the jobs process alone."""
        return 0.0 if self.jobs_pid is None else sum(map(_cpu_seconds, tree(self.jobs_pid)))

    def wait_for_jobs(self) -> None:
        """Until they have counted the clicks: they look for new ones every second."""
        before, now = -1.0, self.jobs_seconds()
        while now - before > IDLE_SHARE * LOOK_SECONDS and now > 0:
            time.sleep(LOOK_SECONDS)
            before, now = now, self.jobs_seconds()

    def memory_bytes(self) -> int:
        """The memory of its processes without files, except that of the jobs process."""
        jobs = [] if self.jobs_pid is None else tree(self.jobs_pid)
        pids = [pid for pid in self.processes() if pid not in jobs]
        texts = [Path(f"/proc/{pid}/status").read_text() for pid in pids]
        return 1024 * sum(
            int(kilobytes)
            for text in texts
            for kilobytes in re.findall(r"(?:RssAnon|RssShmem):\s+(\d+)", text)
        )

    def journal_bytes(self) -> int:
        if self.data is None:
            return 0
        return sum(path.stat().st_size for path in (self.data / "journal").rglob("*"))


@contextlib.contextmanager
def nginx(folder: Path, url: str) -> Iterator[tuple[Server, Server]]:
    """One that redirects everything to the URL, without and with a log: two ports of one worker."""
    assert NGINX is not None
    plain, logging = _free_ports(2)
    folder.mkdir()
    folder.chmod(0o755)  # its worker may be somebody else
    configuration = folder / "nginx.conf"
    configuration.write_text(NGINX_CONFIGURATION.format(plain=plain, logging=logging, url=url))
    command = [NGINX, "-p", str(folder), "-e", "stderr", "-c", str(configuration)]
    with _running(command, {}, "0", folder / "log") as process:
        for port in (plain, logging):
            _wait_for(port, process, folder / "log")
        yield Server(plain, process.pid), Server(logging, process.pid)


@contextlib.contextmanager
def kurz(
    data: Path,
    *,
    program: tuple[str, ...] = KURZ,
    workers: int = 1,
    cores: str = "0",
    **settings: str,
) -> Iterator[Server]:
    """`kurz serve` on a data folder; settings without their KURZ_."""
    environment = {"KURZ_DATA_DIR": str(data), "KURZ_RATE_LIMITS": "off"}
    environment |= {f"KURZ_{name.upper()}": value for name, value in settings.items()}
    command = [*program, "serve", "--port", "0", "--workers", str(workers)]
    log = data.with_name(f"{data.name}.log")
    with _running(command, environment, cores, log) as process:
        assert process.stdout is not None
        address = re.search(r"http://127\.0\.0\.1:(\d+)", process.stdout.readline())
        if address is None:
            sys.exit(f"kurz did not start:\n{log.read_text()}")
        while len(children := children_of(process.pid)) <= workers:
            if process.poll() is not None:
                sys.exit(f"kurz did not stay:\n{log.read_text()}")
            time.sleep(0.05)
        yield Server(int(address[1]), process.pid, data, children[-1])  # it starts the jobs last


@dataclass(frozen=True)
class Stores:
    database_url: str
    redis_url: str

    def kept(self) -> int:
        """Links in Redis, where they go behind the answers."""
        with redis.Redis.from_url(self.redis_url) as client:
            return int(client.dbsize())


@contextlib.contextmanager
def shared_stores() -> Iterator[Stores]:
    """On the core of whoever calls."""
    with PostgresServer(shared_buffers="128MB") as postgres, ValkeyServer() as valkey:
        postgres.create_database("kurz")
        yield Stores(postgres.url("kurz"), valkey.url)


def ask(port: int, request: bytes) -> bytes:
    """The answer to one request, or as much of it as comes at once."""
    with socket.create_connection(("127.0.0.1", port), timeout=10) as client:
        client.sendall(request)
        answer = b""
        while b"\r\n\r\n" not in answer:
            chunk = client.recv(65536)
            if not chunk:
                break
            answer += chunk
        return answer


@contextlib.contextmanager
def _running(
    command: list[str], environment: dict[str, str], cores: str, log: Path
) -> Iterator[subprocess.Popen[str]]:
    """On these cores; its log goes to a file, as a service's would."""
    with log.open("w") as errors:
        process = subprocess.Popen(
            ["taskset", "-c", cores, *command],
            env={**os.environ, **environment},
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        )
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        if process.stdout is not None:
            process.stdout.close()


def _wait_for(port: int, process: subprocess.Popen[str], log: Path) -> None:
    for _ in range(100):
        with contextlib.suppress(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        if process.poll() is not None:
            break
        time.sleep(0.05)
    sys.exit(f"nginx did not start:\n{log.read_text()}")


def _free_ports(count: int) -> list[int]:
    with contextlib.ExitStack() as stack:
        listeners = [stack.enter_context(socket.socket()) for _ in range(count)]
        for listener in listeners:
            listener.bind(("127.0.0.1", 0))
        return [listener.getsockname()[1] for listener in listeners]


def tree(pid: int) -> list[int]:
    """The process and all that come from it."""
    found = [pid]
    for child in children_of(pid):
        found += tree(child)
    return found


def children_of(pid: int) -> list[int]:
    """In the order in which they were started."""
    paths = Path(f"/proc/{pid}/task").glob("*/children")
    return [int(child) for path in paths for child in path.read_text().split()]


def _cpu_seconds(pid: int) -> float:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):  # it has just ended
        return 0.0
    return (int(fields[11]) + int(fields[12])) / TICKS
