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
UNPRIVILEGED = 1024  # the first port that every user may use
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
    except (OSError, UnicodeError) as error:  # the latter for a name that cannot be one
        listener.close()
        raise _refused(host, port, error) from None
    return listener


def check(host: str, port: int) -> None:
    """Raises what `bind` would raise now, and leaves nothing behind."""
    if host.startswith(UNIX):
        _check_unix(Path(host.removeprefix(UNIX)))
    else:
        bind(host, port).close()


def _refused(host: str, port: int, error: OSError | UnicodeError) -> SettingRefused:
    reason = getattr(error, "strerror", None) or "not a host name"
    is_privileged = isinstance(error, PermissionError) and port < UNPRIVILEGED
    hint = f" Ports below {UNPRIVILEGED} need a privilege (CAP_NET_BIND_SERVICE)."
    return SettingRefused(
        f"Cannot listen on {host}:{port} ({reason}).{hint if is_privileged else ''} Choose another"
        " address with --host and --port, or KURZ_HOST and KURZ_PORT."
    )


def is_unix(opened: Any) -> bool:
    """Whether a socket, or what a transport shows of it, is a Unix socket."""
    return getattr(opened, "family", None) == socket.AF_UNIX


def address_of(listener: socket.socket) -> str:
    """The address of the socket, as a person writes it."""
    if is_unix(listener):
        return f"{UNIX}{listener.getsockname()}"
    host, port = listener.getsockname()[:2]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"


def local_address_of(listener: socket.socket) -> str:
    """The same, as a browser on this machine can open it: not every browser opens `0.0.0.0`."""
    address = address_of(listener)
    for every, local in (("//0.0.0.0:", "//127.0.0.1:"), ("//[::]:", "//[::1]:")):
        address = address.replace(every, local)
    return address


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
        raise _refused_path(path, error) from None
    return listener


def _check_unix(path: Path) -> None:
    try:
        with _alone_in(path.parent):
            if path.is_symlink() or (path.exists() and not _is_left_over(path)):
                raise _in_use()
            if not os.access(path.parent, os.W_OK | os.X_OK):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    except OSError as error:
        raise _refused_path(path, error) from None


def _refused_path(path: Path, error: OSError) -> SettingRefused:
    return SettingRefused(
        f"Cannot listen on {path} ({error.strerror}). Choose another path with"
        f" --host {UNIX}PATH or KURZ_HOST."
    )


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
    if _is_left_over(path):
        path.unlink()


def _is_left_over(path: Path) -> bool:
    """Whether it is a socket without a server. Raises an `OSError` if there is a server."""
    try:
        if not stat.S_ISSOCK(path.lstat().st_mode):
            return False
    except FileNotFoundError:
        return False
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
        client.settimeout(0)  # its queue may be full
        try:
            client.connect(str(path))
        except ConnectionRefusedError:
            return True
        except BlockingIOError:
            pass
    raise _in_use()


def _in_use() -> OSError:
    return OSError(errno.EADDRINUSE, os.strerror(errno.EADDRINUSE))
