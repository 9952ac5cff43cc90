"""Which proxies are noticed because they hide their clients."""

import pytest

from kurz.server.forwarding import ENOUGH, NOBODY, SOME, Forwarding
from kurz.server.proxy_note import MAX_BYTES, ProxyNote

HOST = "go.example.com"


@pytest.fixture
def noted() -> list[str | None]:
    return []


@pytest.fixture
def forwarding(noted) -> Forwarding:
    return Forwarding(noted.append)


def count(forwarding: Forwarding, times: int, peer="127.0.0.1", host=HOST, *, is_named=False):
    for _ in range(times):
        forwarding.count(peer, host, is_named=is_named)


def test_a_proxy_that_never_names_anybody_is_noticed_once(forwarding, noted):
    count(forwarding, ENOUGH - 1)
    assert noted == []
    count(forwarding, 100)
    assert noted == [NOBODY]


def test_one_that_passes_on_what_clients_send_is_noticed(forwarding, noted):
    count(forwarding, 50, "::1", is_named=True)
    count(forwarding, 50, "::1")
    assert noted == [SOME]


def test_a_proxy_that_was_corrected_is_not_noticed_for_ever(forwarding, noted):
    count(forwarding, ENOUGH)
    count(forwarding, 20 * ENOUGH + 1, is_named=True)
    assert noted == [NOBODY, SOME, None]


@pytest.mark.parametrize(
    ("peer", "host", "is_named"),
    [
        ("127.0.0.1", HOST, True),
        ("192.0.2.1", HOST, False),  # a visitor without a proxy
        ("127.0.0.1", "localhost:8080", False),
        ("127.0.0.1", "127.0.0.1:8080", False),
        ("::1", "[::1]:8080", False),
    ],
)
def test_what_is_usual_is_not_noticed(forwarding, noted, peer, host, is_named):
    count(forwarding, 1000, peer, host, is_named=is_named)
    assert noted == []


def test_a_note_is_private_and_can_be_taken_back(tmp_path):
    note = ProxyNote(tmp_path / "note")
    assert note.read() is None
    note.write(NOBODY)
    assert note.read() == NOBODY
    assert (tmp_path / "note").stat().st_mode & 0o777 == 0o600
    note.write(None)
    note.write(None)
    assert note.read() is None
    ProxyNote(tmp_path / "missing" / "note").write(NOBODY)  # says nothing


@pytest.mark.parametrize("content", [b"", b"\x1b[31m", b"\xff", b"x" * (MAX_BYTES + 1)])
def test_only_a_sentence_is_read_from_a_note(tmp_path, content):
    (tmp_path / "note").write_bytes(content)
    assert ProxyNote(tmp_path / "note").read() is None
