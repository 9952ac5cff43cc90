"""Redis over TLS: everything works, and a certificate that cannot be checked is not accepted."""

import asyncio
from collections.abc import Iterator

import pytest

from kurz.cache.client import RedisUnavailable, Script
from kurz.cache.connect import open_redis
from kurz.cache.diagnosis import why_unusable
from kurz.cache.subscription import subscribe
from servers.tls_proxy import TlsProxy
from support.certificates import server_context

PATIENT = 30.0  # seconds: a busy machine must not fail what is not about time
SET = Script.of("return redis.call('SET', KEYS[1], ARGV[1])")


@pytest.fixture
def proxy(valkey, tmp_path) -> Iterator[TlsProxy]:
    with TlsProxy(valkey.port, server_context(tmp_path, "localhost")) as proxy:
        yield proxy


def url(proxy: TlsProxy, options: str = "", host: str = "localhost") -> str:
    return f"rediss://{host}:{proxy.port}/0{options}"


async def until_closed(proxy: TlsProxy) -> None:
    """With TLS, a connection is closed when the other side has answered."""
    while proxy.connections:  # noqa: ASYNC110  they belong to another thread
        await asyncio.sleep(0.01)
    await asyncio.sleep(0.1)


async def failure(address: str) -> RedisUnavailable:
    client = open_redis(address, timeout_seconds=PATIENT)
    try:
        with pytest.raises(RedisUnavailable) as caught:
            await client.get(b"key")
    finally:
        await client.close()
    return caught.value


async def test_everything_works_with_a_trusted_certificate(proxy, valkey, tmp_path):
    address = url(proxy, f"?ssl_ca_certs={tmp_path / 'server.pem'}")
    client = open_redis(address, timeout_seconds=PATIENT)
    try:
        await client.run(SET, b"over-tls", b"1")
        assert await client.get_all([b"over-tls", b"nothing"]) == [b"1", None]
        async with subscribe(address, "over-tls", timeout_seconds=PATIENT) as subscription:
            await client.publish("over-tls")
            assert await subscription.wait(PATIENT)
    finally:
        await client.close()
    await until_closed(proxy)
    assert "$1\r\n1" in valkey.ask("GET over-tls")
    assert proxy.handshakes >= 2


async def test_a_certificate_of_nobody_we_trust_is_refused(proxy, valkey):
    said = why_unusable(url(proxy), await failure(url(proxy)))
    assert "its certificate is not trusted (self-signed certificate" in said
    assert "Set ssl_ca_certs in KURZ_REDIS_URL" in said
    assert proxy.handshakes == 0


async def test_a_certificate_for_another_name_is_refused(proxy, tmp_path):
    address = url(proxy, f"?ssl_ca_certs={tmp_path / 'server.pem'}", host="127.0.0.1")
    assert "IP address mismatch" in why_unusable(address, await failure(address))


@pytest.mark.parametrize("exists", [True, False])
async def test_a_file_of_certificates_that_cannot_be_read_is_named(proxy, tmp_path, exists):
    path = tmp_path / "ca.pem"
    if exists:
        path.mkdir()
    address = url(proxy, f"?ssl_ca_certs={path}")
    said = why_unusable(address, await failure(address))
    assert f"ssl_ca_certs {path} cannot be read" in said
    assert said.endswith("Correct KURZ_REDIS_URL.")


async def test_a_client_without_tls_gets_a_hint(proxy):
    address = url(proxy).replace("rediss", "redis")
    said = why_unusable(address, await failure(address))
    assert said.endswith("If it expects TLS, use rediss instead of redis in KURZ_REDIS_URL.")
