"""The event loop of the tests."""

import asyncio
import faulthandler
import socket

import pytest

from support.loops import Loop


def test_a_connection_that_is_left_open_is_an_error_and_no_hang():
    runner = asyncio.Runner(loop_factory=Loop)
    with socket.create_server(("127.0.0.1", 0)) as listener:

        async def connect() -> tuple[asyncio.Transport, asyncio.Protocol]:
            loop = asyncio.get_running_loop()
            return await loop.create_connection(asyncio.Protocol, *listener.getsockname())

        kept = runner.run(connect())  # what is forgotten is closed
        faulthandler.dump_traceback_later(60, exit=True)  # nothing else ends a hang there
        with pytest.raises(ResourceWarning, match="unclosed resource <TCPTransport"):
            runner.close()
        faulthandler.cancel_dump_traceback_later()
    assert "closed=True" in repr(kept[0])
