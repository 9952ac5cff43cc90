"""Each proxy, the real program with the file in deploy/proxies, in front of a real kurz."""

import re
import socket
import ssl
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import httpx2
import pytest

from support.certificates import server_context
from support.installed import DESTINATION, InstalledProgram
from support.observed import ROOT
from support.program import KURZ

PROXIES = ROOT / "deploy" / "proxies"
HOST = "go.example.com"
UPSTREAM = "127.0.0.1:8080"
VISITOR, OTHER_VISITOR = "127.0.0.5", "127.0.0.6"  # 127.0.0.1 is a trusted proxy
START_SECONDS = 300.0  # a busy machine

Prepare = Callable[[Path, dict[str, int]], list[str]]


def free_port() -> int:
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def replace(name: str, folder: Path, changes: dict[str, str]) -> Path:
    """The file with this machine's ports and certificate; each of them has to be in it."""
    text = (PROXIES / name).read_text()
    for old, new in changes.items():
        assert old in text, old
        text = text.replace(old, new)
    path = folder / name
    path.write_text(text)
    return path


def nginx(folder: Path, ports: dict[str, int]) -> list[str]:
    changes = {
        UPSTREAM: f"127.0.0.1:{ports['kurz']}",
        "listen 80;": f"listen {ports['http']};",
        "listen 443 ssl": f"listen {ports['https']} ssl",
        "/etc/ssl/go.example.com.pem": str(folder / "server.pem"),
        "/etc/ssl/go.example.com.key": str(folder / "server.pem"),
    }
    site = replace("nginx.conf", folder, changes)
    whole = folder / "whole.conf"
    http = f"access_log off; include {site};"
    whole.write_text(f"pid {folder}/pid; error_log stderr; events {{}} http {{ {http} }}")
    return ["nginx", "-c", str(whole), "-p", str(folder), "-g", "daemon off;"]


def haproxy(folder: Path, ports: dict[str, int]) -> list[str]:
    changes = {
        UPSTREAM: f"127.0.0.1:{ports['kurz']}",
        "maxconn 20000": "maxconn 1000",  # each takes two files
        "bind :80\n": f"bind 127.0.0.1:{ports['http']}\n",
        "bind :443 ssl": f"bind 127.0.0.1:{ports['https']} ssl",
        "/etc/ssl/go.example.com.pem": str(folder / "server.pem"),
    }
    return ["haproxy", "-db", "-f", str(replace("haproxy.cfg", folder, changes))]


def caddy(folder: Path, ports: dict[str, int]) -> list[str]:
    """With certificates of its own, because nobody else would give one for this name."""
    options = f"admin off\nlocal_certs\nskip_install_trust\nstorage file_system {folder}/caddy\n"
    options += f"http_port {ports['http']}\nhttps_port {ports['https']}\n"
    changes = {
        "{\n\ton_demand_tls": f"{{\n{options}\ton_demand_tls",
        UPSTREAM: f"127.0.0.1:{ports['kurz']}",
        "{$KURZ_CERTIFICATES:acme}": "internal",
    }
    path = replace("Caddyfile", folder, changes)
    return ["caddy", "run", "--adapter", "caddyfile", "--config", str(path)]


@pytest.fixture(params=[nginx, haproxy, caddy], ids=lambda it: it.__name__, scope="module")
def https(request, tmp_path_factory) -> Iterator[int]:
    """The port on which the proxy answers HTTPS."""
    folder = tmp_path_factory.mktemp(request.param.__name__)
    data = folder / "data"
    data.mkdir(mode=0o700)
    settings = {"KURZ_RATE_LIMITS": "on", "KURZ_LIMIT_MISS": "3/h", "KURZ_DATA_DIR": str(data)}
    program = InstalledProgram([KURZ], settings, folder / "log").start()
    try:
        server_context(folder, HOST)  # writes server.pem
        ports = {"http": free_port(), "https": free_port(), "kurz": program.port}
        with running(request.param(folder, ports), folder / "proxy.log") as process:
            wait_for(ports["https"], process, folder / "proxy.log")
            yield ports["https"]
    finally:
        program.stop()


@contextmanager
def running(command: list[str], log: Path) -> Iterator["subprocess.Popen[bytes]"]:
    with log.open("w") as file:
        process = subprocess.Popen(command, stdout=file, stderr=file, cwd=log.parent)
    try:
        yield process
    finally:
        process.terminate()
        process.wait(60)


def wait_for(port: int, process: "subprocess.Popen[bytes]", log: Path) -> None:
    """Until it accepts connections and has a certificate."""
    deadline = time.monotonic() + START_SECONDS
    while True:
        assert process.poll() is None, log.read_text()
        assert time.monotonic() < deadline, log.read_text()
        try:
            with visitor(port) as client:
                if client.get("/healthz").status_code == 200:
                    return
        except httpx2.TransportError:
            time.sleep(0.2)


@contextmanager
def visitor(port: int, address: str = VISITOR, host: str = HOST) -> Iterator[httpx2.Client]:
    """Calls the proxy by its address, with the name in TLS and in Host."""
    anything = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    anything.check_hostname = False
    anything.verify_mode = ssl.CERT_NONE
    transport = httpx2.HTTPTransport(verify=anything, local_address=address)
    with httpx2.Client(
        base_url=f"https://127.0.0.1:{port}",
        transport=Named(transport, host),
        headers={"host": host},
        timeout=60,
    ) as client:
        yield client


class Named(httpx2.BaseTransport):
    def __init__(self, inner: httpx2.HTTPTransport, host: str) -> None:
        self._inner = inner
        self._host = host

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        request.extensions = {**request.extensions, "sni_hostname": self._host}
        return self._inner.handle_request(request)

    def close(self) -> None:
        self._inner.close()


def test_a_link_has_the_host_and_scheme_that_the_visitor_sees(https):
    with visitor(https) as client:
        created = client.post("/api/v1/links", json={"original_url": DESTINATION})
        assert created.status_code == 201, created.text
        assert created.json()["short_url"].startswith(f"https://{HOST}/")
        path = f"/{created.json()['short_code']}"
        assert client.get(path).headers["location"] == DESTINATION


def test_kurz_knows_who_the_visitor_is_whatever_they_claim(https):
    with visitor(https) as client:
        statuses = [
            client.get(f"/miss{n}", headers={"x-forwarded-for": f"203.0.113.{n}"}).status_code
            for n in range(5)
        ]
    assert statuses == [404, 404, 404, 429, 429]
    with visitor(https, OTHER_VISITOR) as client:
        assert client.get("/miss5").status_code == 404


def test_a_file_of_many_links_passes(https):
    """More than proxies allow by default; kurz then asks who sends it."""
    body = b"x" * (2 << 20)
    with visitor(https) as client:
        path = "/api/v1/workspaces/1/links/import"
        answer = client.post(path, content=body, headers={"content-type": "text/csv"})
    assert answer.status_code == 401, answer.text


@pytest.mark.parametrize("https", [caddy], indirect=True)
def test_caddy_requests_no_certificate_for_a_domain_that_kurz_does_not_know(https):
    with visitor(https, host="evil.example.net") as client, pytest.raises(httpx2.ConnectError):
        client.get("/healthz")


def test_the_page_about_proxies_names_each_file():
    page = (ROOT / "docs" / "guides" / "behind-a-proxy.md").read_text()
    names = set(re.findall(r"deploy/proxies/([\w.]+)\)", page))
    assert names == {path.name for path in PROXIES.iterdir()}
