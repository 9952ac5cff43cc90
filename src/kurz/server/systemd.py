"""Reports the state of the service to systemd (`Type=notify`)."""

import contextlib
import socket
import time

READY = "READY=1"
STOPPING = "STOPPING=1"


def reloading() -> str:
    """`Type=notify-reload` accepts it only with the time of sending."""
    return f"RELOADING=1\nMONOTONIC_USEC={time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000}"


def notify(address: str | None, state: str) -> None:
    """Sends a state to the socket in `NOTIFY_SOCKET`, if systemd sets it. The service goes on if
    systemd does not listen."""
    if not address:
        return
    if address.startswith("@"):  # an abstract socket, which has no file
        address = "\0" + address[1:]
    with (
        contextlib.suppress(OSError),
        socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as channel,
    ):
        channel.sendto(state.encode(), address)
