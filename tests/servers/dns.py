"""A small DNS server on loopback, whose records and manners a test changes while it runs."""

import contextlib
import itertools
import socketserver
import struct
import threading
from collections.abc import Iterator
from enum import Enum, auto
from typing import Self

import dns.flags
import dns.message
import dns.name
import dns.rcode
import dns.rdata
import dns.rdataclass
import dns.rdatatype
import dns.rrset
from dns.rdtypes.ANY.CNAME import CNAME
from dns.rdtypes.ANY.TXT import TXT

from servers.process import HOST, free_port

MAX_UDP_SIZE = 512  # without EDNS, which kurz does not ask for
MAX_ALIASES = 8


class Trouble(Enum):
    """What a name's server can do instead of answering."""

    SERVFAIL = auto()
    REFUSED = auto()
    SILENCE = auto()
    GARBAGE = auto()
    HANG_UP = auto()  # promises more over TCP, and closes the connection there


class DnsServer:
    """Knows TXT records, addresses and aliases, which it follows as a server does that asks others
    for us. A name that nobody put is NXDOMAIN; what is too long for UDP is truncated there and
    complete over TCP."""

    def __init__(self) -> None:
        self.port = 0
        self.questions: list[tuple[str, str]] = []
        self._records: dict[str, list[dns.rdata.Rdata] | Trouble] = {}
        self._turns: dict[str, Iterator[str]] = {}
        self._servers: list[socketserver.BaseServer] = []
        self._threads: list[threading.Thread] = []

    @property
    def address(self) -> str:
        """As KURZ_DNS_SERVERS has it."""
        return f"{HOST}@{self.port}"

    def put(self, name: str, *values: str | tuple[bytes, ...]) -> None:
        """Makes these the TXT records of a name; a tuple is the pieces of one. Without any, the
        name exists and has no TXT record."""
        pieces = [value if isinstance(value, tuple) else (value.encode(),) for value in values]
        self._records[name] = [
            TXT(dns.rdataclass.IN, dns.rdatatype.TXT, strings) for strings in pieces
        ]

    def put_addresses(self, name: str, *addresses: str) -> None:
        self._records[name] = [_address(text) for text in addresses]

    def put_alias(self, name: str, target: str) -> None:
        self._records[name] = [dns.rdata.from_text("IN", "CNAME", f"{target}.")]

    def put_turns(self, name: str, *addresses: str) -> None:
        """IPv4 addresses: each question for them gets the next one."""
        self._records[name] = []
        self._turns[name] = itertools.cycle(addresses)

    def clear(self) -> None:
        self._records.clear()
        self._turns.clear()
        self.questions.clear()

    def forget(self, name: str) -> None:
        del self._records[name]

    def trouble(self, name: str, trouble: Trouble) -> None:
        self._records[name] = trouble

    def start(self) -> None:
        while not self._servers:
            with contextlib.suppress(OSError):  # the port is free for one protocol only
                self._bind(free_port())
        self._threads = [
            threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
            for server in self._servers
        ]
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Nothing listens on its port after this."""
        for server, thread in zip(self._servers, self._threads, strict=True):
            server.shutdown()
            thread.join()
            server.server_close()
        self._servers, self._threads = [], []

    def answer(self, question: bytes, protocol: str) -> bytes | None:
        """The bytes to send back; None for nothing at all."""
        request = dns.message.from_wire(question)
        name = request.question[0].name.to_text(omit_final_dot=True)
        self.questions.append((protocol, name))
        found = self._records.get(name)
        response = dns.message.make_response(request, recursion_available=True)
        match found:
            case Trouble.SILENCE:
                return None
            case Trouble.GARBAGE:
                return question[:2] + b"\xff" * 20
            case Trouble.HANG_UP:
                response.flags |= dns.flags.TC
                return response.to_wire() if protocol == "udp" else None
            case Trouble.SERVFAIL | Trouble.REFUSED:
                response.set_rcode(dns.rcode.from_text(found.name))
            case _:
                self._fill(response, name, request.question[0].rdtype)
        wire = response.to_wire()
        if protocol == "udp" and len(wire) > MAX_UDP_SIZE:
            response.answer.clear()
            response.flags |= dns.flags.TC
            wire = response.to_wire()
        return wire

    def _fill(
        self, response: dns.message.Message, name: str, kind: dns.rdatatype.RdataType
    ) -> None:
        for _ in range(MAX_ALIASES):
            if name in self._turns and kind == dns.rdatatype.A:
                self._records[name] = [_address(next(self._turns[name]))]
            records = self._records.get(name)
            if records is None or isinstance(records, Trouble):
                response.set_rcode(dns.rcode.SERVFAIL if records else dns.rcode.NXDOMAIN)
                return
            aliases = [it for it in records if isinstance(it, CNAME)]
            fitting = [it for it in records if isinstance(it, CNAME) or it.rdtype == kind]
            if fitting:
                owner = dns.name.from_text(name)
                response.answer.append(dns.rrset.from_rdata_list(owner, 60, fitting))
            if not aliases:
                return
            name = aliases[0].target.to_text(omit_final_dot=True)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _bind(self, port: int) -> None:
        udp = socketserver.UDPServer((HOST, port), _udp_handler(self))
        try:
            tcp = _TcpServer((HOST, port), _tcp_handler(self))
        except OSError:
            udp.server_close()
            raise
        self._servers = [udp, tcp]
        self.port = port


class _TcpServer(socketserver.TCPServer):
    allow_reuse_address = True


def _udp_handler(server: DnsServer) -> type[socketserver.BaseRequestHandler]:
    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            question, connection = self.request
            answer = server.answer(question, "udp")
            if answer is not None:
                connection.sendto(answer, self.client_address)

    return Handler


def _tcp_handler(server: DnsServer) -> type[socketserver.StreamRequestHandler]:
    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            (size,) = struct.unpack("!H", self.rfile.read(2))
            answer = server.answer(self.rfile.read(size), "tcp")
            if answer is not None:
                self.wfile.write(struct.pack("!H", len(answer)) + answer)

    return Handler


def _address(text: str) -> dns.rdata.Rdata:
    return dns.rdata.from_text("IN", "AAAA" if ":" in text else "A", text)
