"""The listening socket, where something is in its place."""

import contextlib
import socket
from concurrent.futures import ThreadPoolExecutor

import pytest

from kurz.errors import SettingRefused
from kurz.server.listening import address_of, bind


def test_the_socket_of_a_server_that_was_killed_is_replaced(tmp_path):
    host = f"unix:{tmp_path / 'kurz.sock'}"
    bind(host, 0).close()
    with bind(host, 0) as listener, socket.socket(socket.AF_UNIX) as client:
        listener.listen()
        client.connect(str(tmp_path / "kurz.sock"))
        assert address_of(listener) == host


def test_the_socket_of_a_running_server_is_left_alone(tmp_path):
    path = tmp_path / "kurz.sock"
    with bind(f"unix:{path}", 0):
        with pytest.raises(SettingRefused, match="Address already in use"):
            bind(f"unix:{path}", 0)
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(str(path))


def test_a_server_that_accepts_nothing_is_not_waited_for(tmp_path):
    path = tmp_path / "kurz.sock"
    with bind(f"unix:{path}", 0) as listener, contextlib.ExitStack() as clients:
        listener.listen(0)
        with contextlib.suppress(BlockingIOError):
            for _ in range(10):
                client = clients.enter_context(socket.socket(socket.AF_UNIX))
                client.settimeout(0)
                client.connect(str(path))
        with pytest.raises(SettingRefused, match="Address already in use"):
            bind(f"unix:{path}", 0)


def test_of_many_servers_that_start_at_once_one_listens(tmp_path):
    host = f"unix:{tmp_path / 'kurz.sock'}"
    bind(host, 0).close()  # what a server that was killed leaves

    def start(_: int) -> socket.socket | None:
        try:
            return bind(host, 0)
        except SettingRefused:
            return None

    with ThreadPoolExecutor(8) as threads:
        found = [listener for listener in threads.map(start, range(8)) if listener is not None]
    assert len(found) == 1
    found[0].close()


def test_a_file_is_not_replaced_by_a_socket(tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("mine")
    link = tmp_path / "link"
    link.symlink_to(path)
    for place in (path, link):
        with pytest.raises(SettingRefused):
            bind(f"unix:{place}", 0)
    assert path.read_text() == "mine"


def test_a_folder_that_is_missing_is_named(tmp_path):
    with pytest.raises(SettingRefused, match="missing"):
        bind(f"unix:{tmp_path / 'missing' / 'kurz.sock'}", 0)


def test_an_ipv6_address_is_shown_in_brackets():
    with bind("::1", 0) as listener:
        assert address_of(listener) == f"http://[::1]:{listener.getsockname()[1]}"
