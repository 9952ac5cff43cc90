"""Addresses of Redis: which are understood, and what is said of the others."""

import pytest

from kurz.redis_url import RedisKind, parse


@pytest.mark.parametrize(
    "url",
    [
        "redis://localhost",
        "redis://:secret@host:6380/2",
        "rediss://user:secret@host/0?ssl_ca_certs=/etc/ca.pem",
        "redis://[::1]:6379/0",
        "unix:///run/redis.sock?db=2",
    ],
)
def test_one_server_is_taken_as_it_is(url):
    assert (parse(url).kind, parse(url).url) == (RedisKind.SERVER, url)


def test_sentinels_name_their_service():
    found = parse("redis+sentinel://me:p%40ss@one,two:26380,[::1]:26381/my%20links/3")
    assert found.kind is RedisKind.SENTINEL
    assert found.hosts == (("one", 26379), ("two", 26380), ("::1", 26381))
    assert found.service == "my links"
    assert found.url_of(("fe80::1", 6379)) == "redis://me:p%40ss@[fe80::1]:6379/3"
    assert found.url_of_sentinel(("one", 26379)) == "redis://one:26379/"


def test_sentinels_have_passwords_of_their_own():
    found = parse("rediss+sentinel://:a@one/links?sentinel_password=b%26c&ssl_ca_certs=/ca.pem")
    assert found.url_of(("x", 1)) == "rediss://:a@x:1/?ssl_ca_certs=%2Fca.pem"
    assert found.url_of_sentinel(("one", 26379)) == (
        "rediss://one:26379/?password=b%26c&ssl_ca_certs=%2Fca.pem"
    )


def test_a_cluster_has_seeds():
    found = parse("rediss+cluster://me:secret@one,two:6380?ssl_check_hostname=false")
    assert found.kind is RedisKind.CLUSTER
    assert found.hosts == (("one", 6379), ("two", 6380))
    assert (
        found.url_of(("10.0.0.1", 7)) == "rediss://me:secret@10.0.0.1:7/?ssl_check_hostname=false"
    )


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("http://host", "must be a Redis address"),
        ("host:6379", "must be a Redis address"),
        ("redis://hidden@host:port", "must be a Redis address"),
        ("redis://hidden@host:99999", "must be a Redis address"),
        ("redis://hidden@ho st", "must be a Redis address"),
        ("redis://hidden@host#0", "must be a Redis address"),
        ("redis://:hidden@host/first", "number as its database"),
        ("unix://", "must be a Redis address"),
        ("redis+cluster://", "must be a Redis address"),
        ("redis+cluster://:hidden@one,,two", "must be a Redis address"),
        ("redis+cluster://:hidden@one/1", "must not name a database"),
        ("redis+cluster://:hidden@[::1", "must be a Redis address"),
        ("redis+sentinel://:hidden@one", "must name the service"),
        ("redis+sentinel://:hidden@one/service/first", "number as its database"),
        ("redis+other://:hidden@one", "must be a Redis address"),
        ("redis://host?socket_timeout=hidden", "only have these options"),
        ("redis+cluster://host?db=1", "only have these options"),
        ("unix:///run/redis.sock?db=hidden", "number as its database"),
        ("rediss://host?ssl_cert_reqs=hidden", "must have ssl_cert_reqs as one of: required"),
        ("rediss://host?ssl_check_hostname=hidden", "must have ssl_check_hostname as one of"),
    ],
)
def test_what_is_wrong_is_said_without_the_address(url, says):
    with pytest.raises(ValueError, match=says) as refusal:
        parse(url)
    assert "hidden" not in str(refusal.value)
