"""The image is built and runs for real: read-only, without privileges, its data in a volume."""

import os
import secrets
import socket
import time
from collections.abc import Iterator
from contextlib import closing

import httpx2
import pytest

from support import container
from support.certificates import NO_CERTIFICATES
from support.container import Container
from support.installed import DESTINATION
from support.observed import ROOT

pytestmark = pytest.mark.timeout(3600)
START_SECONDS = 900  # a busy machine; as a rule it takes two
TOKEN = secrets.token_hex(32)
UID = 1000


@pytest.fixture(scope="module", autouse=True)
def image(tmp_path_factory) -> Iterator[None]:
    assert list(ROOT.glob("dist/kurz-*.whl")), "the image needs the wheel: run `make dist`"
    container.build(tmp_path_factory.mktemp("build"))
    yield
    container.remove()


@pytest.fixture
def port() -> int:
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture
def running(tmp_path, port) -> Iterator[Container]:
    data, token = tmp_path / "data", tmp_path / "token"
    data.mkdir(mode=0o700)
    token.write_text(TOKEN)
    for path in (data, token):
        os.chown(path, UID, UID)
    secret = [f"--volume={token}:/run/token:ro", "--env=KURZ_METRICS_TOKEN_FILE=/run/token"]
    found = Container(f"kurz-test-{port}", data, port, *secret)
    found.start()
    try:
        yield found
    finally:
        found.remove()


@pytest.fixture
def client(port) -> Iterator[httpx2.Client]:
    url = f"http://127.0.0.1:{port}"
    with httpx2.Client(base_url=url, trust_env=False, verify=NO_CERTIFICATES, timeout=60) as found:
        yield found


def wait_until_ready(running: Container, client: httpx2.Client) -> None:
    deadline = time.monotonic() + START_SECONDS
    while True:
        try:
            if client.get("/readyz").status_code == 200:
                return
        except httpx2.TransportError:
            assert running.is_running(), running.log()
            assert time.monotonic() < deadline, "it does not answer"
        time.sleep(0.2)


def test_links_are_there_after_a_kill_and_it_stops_cleanly(running, client):
    wait_until_ready(running, client)
    created = client.post("/api/v1/links", json={"original_url": DESTINATION}).json()
    path = f"/{created['short_code']}"
    assert client.get(path).headers["location"] == DESTINATION
    running.kill()
    running.start_again()
    wait_until_ready(running, client)
    assert client.get(path).headers["location"] == DESTINATION
    assert running.stop() == 0


def test_it_runs_without_privileges_and_cannot_write_elsewhere(running, client):
    wait_until_ready(running, client)
    assert running.is_healthy()
    code = "import os; print(os.getuid(), os.access('/', os.W_OK), os.access('/opt/kurz', os.W_OK))"
    assert running.run("python", "-c", code).split() == [str(UID), "False", "False"]
    code = "import shutil; print([it for it in ('gcc', 'make', 'node', 'uv') if shutil.which(it)])"
    assert running.run("python", "-c", code).strip() == "[]"


def test_a_setting_can_come_from_a_file(running, client):
    wait_until_ready(running, client)
    assert client.get("/metrics").status_code == 401
    bearer = {"authorization": f"Bearer {TOKEN}"}
    assert "kurz_info" in client.get("/metrics", headers=bearer).text


def test_the_health_check_notices_a_server_that_is_gone(running, client):
    wait_until_ready(running, client)
    code = "import os; os.environ['KURZ_PORT'] = '1'; import runpy; runpy.run_path("
    code += "'/opt/kurz/healthcheck.py', run_name='__main__')"
    answer = running.run("python", "-c", code, is_checked=False)
    assert "kurz does not answer on port 1" in answer
