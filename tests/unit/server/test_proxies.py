"""Who is believed about the scheme and the client's address."""

from collections.abc import MutableMapping
from types import SimpleNamespace
from typing import Any

import pytest
from structlog.testing import capture_logs

from kurz.people.domains import Domains
from kurz.server.app import App
from kurz.server.hosts import Hosts
from kurz.server.proxies import MAX_HOPS, TrustedProxies

LOCAL = "127.0.0.1"
PROXIES = ("127.0.0.1", "10.0.0.0/8", "2001:db8:ffff::/48")


@pytest.mark.parametrize(
    ("networks", "address", "is_trusted"),
    [
        (("127.0.0.1", "::1"), "127.0.0.1", True),
        (("127.0.0.1", "::1"), "::1", True),
        (("127.0.0.1", "::1"), "::ffff:127.0.0.1", True),
        (("10.0.0.0/8",), "::ffff:10.1.2.3", True),
        (("10.0.0.0/8",), "11.1.2.3", False),
        (("127.0.0.1",), "", False),
        ((), "127.0.0.1", False),
    ],
)
def test_only_named_peers_are_believed(networks, address, is_trusted):
    assert TrustedProxies(networks).include(address) is is_trusted


@pytest.mark.parametrize(
    ("peer", "forwarded_for", "client"),
    [
        # from a stranger it is made up
        ("192.0.2.9", ["198.51.100.1"], "192.0.2.9"),
        ("192.0.2.9", ["127.0.0.1"], "192.0.2.9"),
        ("", ["198.51.100.1"], ""),
        # from a proxy the right end is true
        (LOCAL, [], LOCAL),
        (LOCAL, ["198.51.100.1"], "198.51.100.1"),
        (LOCAL, ["203.0.113.66, 198.51.100.1"], "198.51.100.1"),
        (LOCAL, ["127.0.0.1, 198.51.100.1"], "198.51.100.1"),
        ("::ffff:127.0.0.1", ["198.51.100.1"], "198.51.100.1"),
        # proxies behind proxies are passed over
        (LOCAL, ["203.0.113.66, 198.51.100.1, 10.0.0.7"], "198.51.100.1"),
        (LOCAL, ["198.51.100.1,10.0.0.7 ,\t10.0.0.8"], "198.51.100.1"),
        (LOCAL, ["198.51.100.1, ::ffff:10.0.0.7"], "198.51.100.1"),
        (LOCAL, ["2001:db8::5, 2001:db8:ffff::1"], "2001:db8::5"),
        (LOCAL, ["10.0.0.9, 10.0.0.7"], "10.0.0.9"),
        # several headers are one list
        (LOCAL, ["203.0.113.66", "198.51.100.1"], "198.51.100.1"),
        (LOCAL, ["198.51.100.1", "10.0.0.7"], "198.51.100.1"),
        # with a port, in brackets, in another spelling
        (LOCAL, ["198.51.100.1:4711"], "198.51.100.1"),
        (LOCAL, ["[2001:db8::5]:4711"], "2001:db8::5"),
        (LOCAL, ["[2001:DB8:0::5]"], "2001:db8::5"),
        (LOCAL, ["198.51.100.1, [2001:db8:ffff::1]:80, 10.0.0.7:80"], "198.51.100.1"),
        (LOCAL, ["::ffff:198.51.100.1"], "198.51.100.1"),
        # garbage ends the walk where it still was true
        (LOCAL, [""], LOCAL),
        (LOCAL, ["198.51.100.1,"], LOCAL),
        (LOCAL, ["198.51.100.1, unknown"], LOCAL),
        (LOCAL, ["198.51.100.1, _hidden, 10.0.0.7"], "10.0.0.7"),
        (LOCAL, ["198.51.100.1, unix:, 10.0.0.7"], "10.0.0.7"),
        (LOCAL, ["198.51.100.256"], LOCAL),
        (LOCAL, ["198.51.100.1:port"], LOCAL),
        (LOCAL, ["[2001:db8::5]x"], LOCAL),
        (LOCAL, ["[2001:db8::5"], LOCAL),
        (LOCAL, ["fe80::1%eth0"], LOCAL),
        (LOCAL, ["198.51.100.1\u00a0"], LOCAL),
        (LOCAL, ["\u0661\u0669\u0668.51.100.1"], LOCAL),
        (LOCAL, ["for=198.51.100.1"], LOCAL),
    ],
)
def test_the_client_is_the_first_stranger_from_the_right(peer, forwarded_for, client):
    values = [value.encode() for value in forwarded_for]
    assert TrustedProxies(PROXIES).client_of(peer, values) == client


def test_a_chain_without_end_is_not_walked():
    chain = b"198.51.100.1" + b",10.0.0.1" * 10_000 + b",10.0.0.2" * MAX_HOPS
    assert TrustedProxies(PROXIES).client_of(LOCAL, [chain]) == "10.0.0.2"


class Seen:
    """An application that keeps what it was asked."""

    def __init__(self) -> None:
        self.scope: dict[str, object] = {}

    async def __call__(self, scope, receive, send) -> None:
        self.scope = scope
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})


class NoSites:
    async def verified_sites(self) -> dict[str, object]:
        return {}


@pytest.fixture
def seen() -> Seen:
    return Seen()


@pytest.fixture
def app(seen: Seen) -> App:
    hosts = Hosts(None, Domains(NoSites()))  # type: ignore[arg-type]
    return App(
        api=seen,
        redirect=seen,
        dashboard=None,
        hosts=hosts,
        proxies=TrustedProxies(PROXIES),
        freshness=SimpleNamespace(fresh_until_ns=2**63),
    )


async def ask(app: App, peer: str | None, **headers: str) -> None:
    fields = [(name.replace("_", "-").encode(), text.encode()) for name, text in headers.items()]
    scope = {
        "type": "http",
        "method": "GET",
        "path": "/abc",
        "scheme": "http",
        "client": (peer, 50_000) if peer is not None else None,
        "headers": [(b"host", b"kurz.test"), *fields],
    }

    async def receive() -> dict[str, object]:
        return {"type": "http.disconnect"}

    async def send(message: object) -> None:
        """Nobody listens."""

    await app(scope, receive, send)


@pytest.mark.parametrize(
    ("peer", "headers", "client", "scheme"),
    [
        ("192.0.2.9", {}, "192.0.2.9", "http"),
        (None, {}, "", "http"),
        (LOCAL, {}, LOCAL, "http"),
        (LOCAL, {"x_forwarded_for": "198.51.100.1"}, "198.51.100.1", "http"),
        (LOCAL, {"x_forwarded_proto": "https"}, LOCAL, "https"),
        (
            LOCAL,
            {"x_forwarded_for": "198.51.100.1", "x_forwarded_proto": "https"},
            "198.51.100.1",
            "https",
        ),
        (
            "192.0.2.9",
            {"x_forwarded_for": "198.51.100.1", "x_forwarded_proto": "https"},
            "192.0.2.9",
            "http",
        ),
        (LOCAL, {"forwarded": "for=198.51.100.1;proto=https"}, LOCAL, "http"),
    ],
)
async def test_applications_are_told_client_and_scheme(app, seen, peer, headers, client, scheme):
    await ask(app, peer, **headers)
    assert (seen.scope["kurz.client"], seen.scope["scheme"]) == (client, scheme)


def warnings(lines: list[MutableMapping[str, Any]]) -> list[str]:
    return [line["event"] for line in lines if line["log_level"] == "warning"]


@pytest.mark.parametrize("header", ["x_forwarded_for", "x_forwarded_proto"])
async def test_a_proxy_that_is_not_trusted_is_told_of_once(app, header):
    with capture_logs() as quiet:
        await ask(app, LOCAL, **{header: "198.51.100.1"})
        await ask(app, "192.0.2.9")
    with capture_logs() as lines:
        for _ in range(3):
            await ask(app, "192.0.2.9", **{header: "198.51.100.1"})
    assert warnings(quiet) == []
    [warning] = warnings(lines)
    assert "KURZ_TRUSTED_PROXIES" in warning
