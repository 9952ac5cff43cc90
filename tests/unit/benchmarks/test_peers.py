"""What `make bench-peers` is told."""

from argparse import ArgumentTypeError

import pytest

from peers import Address, read_address, read_pids


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("http://127.0.0.1:4567/abc", Address("127.0.0.1:4567", 4567, "abc")),
        ("http://localhost/yourls/abc", Address("localhost", 80, "yourls/abc")),
    ],
)
def test_an_address_is_a_short_link_on_this_machine(text, address):
    assert read_address(text) == address


@pytest.mark.parametrize(
    "text",
    [
        "http://127.0.0.1:4567",
        "http://127.0.0.1:4567/",
        "https://127.0.0.1/abc",
        "http://192.0.2.1/abc",
        "127.0.0.1:4567/abc",
    ],
)
def test_other_addresses_are_refused(text):
    with pytest.raises(ArgumentTypeError):
        read_address(text)


def test_a_server_has_one_or_more_processes():
    assert read_pids("chhoto=4711") == ("chhoto", [4711])
    assert read_pids("yourls=1,22") == ("yourls", [1, 22])


@pytest.mark.parametrize(
    "text", ["4711", "chhoto", "chhoto=", "chhoto=one", "bitly=1", "chhoto=1,"]
)
def test_other_processes_are_refused(text):
    with pytest.raises(ArgumentTypeError):
        read_pids(text)
