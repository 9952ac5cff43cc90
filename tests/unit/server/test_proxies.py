"""Who is believed about the scheme."""

import pytest

from kurz.server.proxies import TrustedProxies


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
