"""What systemd is told, over a real socket."""

import socket
from contextlib import closing

import pytest

from kurz.server.systemd import READY, notify, reloading


@pytest.fixture(params=["file", "abstract"])
def channel(request, tmp_path):
    address = str(tmp_path / "notify") if request.param == "file" else f"@{tmp_path}"
    with closing(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)) as listening:
        listening.bind(address.replace("@", "\0"))
        listening.settimeout(5)
        yield address, listening


def test_a_state_arrives(channel):
    address, listening = channel
    notify(address, READY)
    assert listening.recv(1024) == b"READY=1"


def test_a_reload_tells_its_moment(channel):
    address, listening = channel
    notify(address, reloading())
    first, second = listening.recv(1024).decode().split("\n")
    assert first == "RELOADING=1"
    assert int(second.removeprefix("MONOTONIC_USEC=")) > 0


@pytest.mark.parametrize("address", [None, "", "/nowhere/at/all"])
def test_nobody_to_tell_is_no_error(address):
    notify(address, READY)
