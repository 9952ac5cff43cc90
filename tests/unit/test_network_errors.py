"""What errors of connections are called."""

import errno
import os
import re
import socket
import ssl

import pytest
from redis.exceptions import AuthenticationError, NoPermissionError, ResponseError
from redis.exceptions import ConnectionError as RedisConnectionError

from kurz.cache import diagnosis as of_redis
from kurz.network_errors import NO_ANSWER, REFUSED, cause_of
from kurz.storage.engine import diagnosis as of_postgres


def certificate_error() -> ssl.SSLCertVerificationError:
    error = ssl.SSLCertVerificationError(1, "failed")
    error.verify_message = "self-signed certificate"
    return error


@pytest.mark.parametrize(
    ("error", "cause"),
    [
        (ConnectionRefusedError(errno.ECONNREFUSED, "refused"), REFUSED),
        (TimeoutError(), NO_ANSWER),
        (socket.gaierror(socket.EAI_NONAME, "not known"), "its host name was not found"),
        (certificate_error(), "its certificate is not trusted (self-signed certificate)"),
        (OSError(errno.EHOSTUNREACH, "x"), os.strerror(errno.EHOSTUNREACH)),
        (ssl.SSLError(1, "[SSL] wrong version number"), "TLS failed ([SSL] wrong version number)"),
        (ValueError("x"), None),
        (OSError("x"), None),
        # asyncio's, for a name with several addresses
        (OSError(f"Multiple exceptions: [Errno {errno.ECONNREFUSED}] …"), REFUSED),
    ],
    ids=repr,
)
def test_an_error_has_a_cause_in_words(error, cause):
    assert cause_of(error) == cause


def test_a_library_may_put_its_own_error_around_it():
    outer = RedisConnectionError("cannot connect")
    outer.__context__ = ConnectionRefusedError(errno.ECONNREFUSED, "refused")
    assert cause_of(outer) == REFUSED


def test_a_circle_of_errors_ends():
    one, other = ValueError("one"), ValueError("other")
    one.__cause__, other.__cause__ = other, one
    assert cause_of(one) is None
    assert re.search("one|other", of_redis.why_unusable("redis://cache", one))


@pytest.mark.parametrize(
    ("url", "place"),
    [
        ("postgresql://kurz:pw@db/kurz", "db:5432"),
        ("postgresql://kurz:pw@db:5433/kurz", "db:5433"),
        ("postgresql://kurz:pw@[::1]/kurz", "[::1]:5432"),
        ("postgresql://kurz:pw@[::1]:5433/kurz", "[::1]:5433"),
        ("postgresql:///kurz?host=/run/postgresql", "/run/postgresql"),
        ("postgresql:///kurz", "the local socket"),
    ],
)
def test_a_database_is_named_without_its_account(url, place):
    assert of_postgres.where(url) == place


@pytest.mark.parametrize(
    ("url", "place"),
    [
        ("redis://:pw@cache", "cache:6379"),
        ("rediss://user:pw@cache:6380/1", "cache:6380"),
        ("unix:///run/redis.sock?password=pw", "/run/redis.sock"),
        ("redis+sentinel://:pw@a,b:26380/main", "a:26379, b:26380"),
    ],
)
def test_redis_is_named_without_its_account(url, place):
    assert of_redis.where(url) == place


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (AuthenticationError("WRONGPASS"), "rejected the user or the password"),
        (NoPermissionError("NOPERM"), "may not run the commands"),
        (
            ResponseError("DENIED Redis is running in protected mode because …"),
            "it has no password, so it accepts only clients on its own machine (protected mode).",
        ),
        (RedisConnectionError("no server could name the one to use"), "no server could name"),
    ],
)
def test_redis_may_have_reasons_of_its_own(error, words):
    said = of_redis.why_unusable("redis://:hidden@cache", error)
    assert words in said
    assert "cache:6379" in said
    assert "hidden" not in said
