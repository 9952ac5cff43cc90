"""Why Sentinels or a Cluster cannot be used: the sentence names the cause, not only its effect."""

from collections.abc import Iterator

import pytest

from kurz.cache.client import RedisUnavailable
from kurz.cache.connect import open_redis
from kurz.cache.diagnosis import why_unusable
from servers.process import HOST, free_port
from servers.valkey import SERVICE, ValkeyCluster, ValkeySentinels

PATIENT = 30.0  # seconds: a busy machine must not fail what is not about time
KEYS = [b"key-%d" % number for number in range(60)]  # on every server of a cluster


@pytest.fixture(scope="module")
def sentinels() -> Iterator[ValkeySentinels]:
    with ValkeySentinels() as servers:
        yield servers


async def said_of(url: str) -> str:
    client = open_redis(url, timeout_seconds=PATIENT)
    try:
        for key in KEYS:
            await client.get(key)
    except RedisUnavailable as error:
        return why_unusable(url, error)
    finally:
        await client.close()
    raise AssertionError("Redis can be used")


@pytest.mark.parametrize("rest", ["redis+sentinel://{}/links", "redis+cluster://{}"])
async def test_nobody_answers(rest):
    place = f"{HOST}:{free_port()}"
    said = await said_of(rest.format(place))
    assert said.startswith(f"Redis cannot be used at {place}: the connection was refused.")


async def test_a_service_that_the_sentinels_do_not_know(sentinels):
    said = await said_of(sentinels.url.replace(f"/{SERVICE}/", "/links/"))
    assert "Sentinel knows no service “links”" in said


async def test_a_server_that_is_no_sentinel(valkey):
    said = await said_of(f"redis+sentinel://{HOST}:{valkey.port}/links")
    assert "unknown command 'SENTINEL'" in said


async def test_the_user_is_that_of_the_master(sentinels):
    url = sentinels.url.replace("//", "//somebody:hidden@")
    said = await said_of(url)
    assert f"the master at {HOST}:{sentinels.master().port}: it rejected the user" in said
    assert "hidden" not in said


async def test_the_master_that_the_sentinels_name_is_down():
    with ValkeySentinels() as servers:
        for sentinel in servers.sentinels[1:]:
            sentinel.kill()  # one alone promotes no replica
        master = servers.kill_master()
        said = await said_of(servers.url)
    assert f"the master at {HOST}:{master.port}: the connection was refused." in said


async def test_a_server_without_a_cluster(valkey):
    said = await said_of(f"redis+cluster://{HOST}:{valkey.port}")
    assert "cluster support disabled" in said


async def test_a_cluster_under_the_address_of_one_server():
    with ValkeyCluster() as servers:
        said = await said_of(servers.servers[0].url)
    assert said.endswith("it belongs to a Cluster. Use redis+cluster:// in KURZ_REDIS_URL.")
