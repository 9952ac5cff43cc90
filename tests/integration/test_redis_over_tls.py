"""A whole server whose Redis is only reached over TLS: links, limits and wake-ups use it."""

import time

import httpx2
import pytest

from servers.tls_proxy import TlsProxy
from support.certificates import server_context

ENOUGH_SECONDS = 60  # only a defect takes that long


def wait_for(ready) -> None:
    ends_at = time.monotonic() + ENOUGH_SECONDS
    while not ready():
        assert time.monotonic() < ends_at
        time.sleep(0.05)


@pytest.fixture
def proxy(valkey, tmp_path):
    with TlsProxy(valkey.port, server_context(tmp_path, "localhost")) as proxy:
        yield proxy


def test_a_server_uses_redis_over_tls(start_program, make_database, proxy, valkey, tmp_path):
    program = start_program(
        KURZ_DATA_DIR=str(tmp_path / "data"),
        KURZ_DATABASE_URL=make_database(),
        KURZ_REDIS_URL=f"rediss://localhost:{proxy.port}/0?ssl_ca_certs={tmp_path}/server.pem",
        KURZ_ACCESS="public",
    )
    with program.client() as client:
        made = client.post("/api/v1/links", json={"original_url": "https://example.com/tls"})
        code = made.json()["short_code"]

        def is_stored() -> bool:
            client.get("/unknown-code-of-tls")
            assert client.get(f"/{code}").headers["location"] == "https://example.com/tls"
            return "unknown-code-of-tls" in valkey.ask("KEYS *unknown-code-of-tls")

        wait_for(is_stored)
        wait_for(lambda: readiness(client)["redis"] == "ok")
    assert proxy.handshakes > 1


def readiness(client: httpx2.Client) -> dict[str, object]:
    answer: dict[str, object] = client.get("/readyz").json()
    return answer
