"""The listening socket."""

import asyncio
import socket

from kurz.server.serve import bind


async def test_answers_in_pieces_leave_at_once_also_without_uvloop():
    listener = bind("127.0.0.1", 0)
    accepted: asyncio.Queue[asyncio.StreamWriter] = asyncio.Queue()
    server = await asyncio.start_server(lambda _, writer: accepted.put(writer), sock=listener)
    async with server:
        _, client = await asyncio.open_connection(*listener.getsockname())
        writer = await accepted.get()
        sock = writer.get_extra_info("socket")
        assert sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
        for end in (client, writer):
            end.close()
            await end.wait_closed()
