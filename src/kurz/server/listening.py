"""The socket on which all workers accept connections."""

import errno
import fcntl
import os
import socket
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from kurz.errors import SettingRefused

DEFER_SECONDS = 3
UNIX = "unix:"  # before the path of a Unix socket
UNIX_MODE = 0o666  # open to all users, like a port; the folder's mode can restrict access
# A client on a Unix socket has no address, but is on this machine.
LOCAL_CLIENT = ("127.0.0.1", 0)


def bind(host: str, port: int) -> socket.socket:
    """Opens the listening socket. Raises a `SettingRefused` that says what to do."""
    if host.startswith(UNIX):
        return _bind_unix(Path(host.removeprefix(UNIX)))
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # The protocol must be TCP explicitly: otherwise, without uvloop, asyncio does not disable
    # Nagle's algorithm, and an answer in two pieces would wait 40 ms for the client's system.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if hasattr(socket, "TCP_DEFER_ACCEPT"):  # Linux
        # A client that has sent nothing yet waits in the system, where it needs no file.
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_DEFER_ACCEPT, DEFER_SECONDS)
    try:
        listener.bind((host, port))
    except OSError as error:
        listener.close()
        raise SettingRefused(
            f"Cannot listen on {host}:{port} ({error.strerror}). Choose another address with"
            " --host and --port, or KURZ_HOST and KURZ_PORT."
        ) from None
    return listener


def is_unix(opened: Any) -> bool:
    """Whether a socket, or what a transport shows of it, is a Unix socket."""
    return getattr(opened, "family", None) == socket.AF_UNIX


def address_of(listener: socket.socket) -> str:
    """The address of the socket, as a person writes it."""
    if is_unix(listener):
        return f"{UNIX}{listener.getsockname()}"
    host, port = listener.getsockname()[:2]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"


def _bind_unix(path: Path) -> socket.socket:
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        with _alone_in(path.parent):
            _remove_unused(path)
            listener.bind(str(path))
            listener.listen()  # from now on, others see that it is in use
            path.chmod(UNIX_MODE)
    except OSError as error:
        listener.close()
        raise SettingRefused(
            f"Cannot listen on {path} ({error.strerror}). Choose another path with"
            f" --host {UNIX}PATH or KURZ_HOST."
        ) from None
    return listener


@contextmanager
def _alone_in(folder: Path) -> Iterator[None]:
    """Two servers that start at the same time must not remove each other's socket."""
    opened = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(opened, fcntl.LOCK_EX)
        yield
    finally:
        os.close(opened)


def _remove_unused(path: Path) -> None:
    """Removes a socket that a server left behind, and nothing else."""
    try:
        if not stat.S_ISSOCK(path.lstat().st_mode):
            return
    except FileNotFoundError:
        return
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
        client.settimeout(0)  # its queue may be full
        try:
            client.connect(str(path))
        except ConnectionRefusedError:
            path.unlink()
            return
        except BlockingIOError:
            pass
    raise OSError(errno.EADDRINUSE, os.strerror(errno.EADDRINUSE))
