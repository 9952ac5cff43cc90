"""Heads as browsers and proxies send them, changed at random: most still are HTTP, many are not."""

import random
import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from support.http import HOST
from support.modes import MODES, Mode
from support.requests import BODIES, FIELDS, HOSTS, METHODS, QUERIES, TARGETS, VERSIONS

VISITS = 3  # until a head is read from memory
_VISIT = b"%%%"  # stands for the number of a visit
_CASE = b"%CASE%"
_AGENTS = [
    b"User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:144.0) Gecko/20100101 Firefox/144.0 %CASE%",
    b"User-Agent: Mozilla/5.0 (iPhone; CPU iPhone OS 19_0 like Mac OS X) Safari/604.1 %CASE%",
    b"user-agent: facebookexternalhit/1.1 %CASE%",
    b"User-Agent: curl/8.14.1 %CASE%",
]
_HEADS = [
    [  # Firefox behind nginx
        b"X-Forwarded-For: 2001:db8:%%%:7::1",
        b"X-Forwarded-Proto: https",
        b"X-Request-ID: 4f2a%%%",
        b"Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
        b"Accept-Language: de-DE,de;q=0.8,en;q=0.5",
        b"Accept-Encoding: gzip, deflate, br, zstd",
        b"Referer: https://news%%%.example/today?a=1",
        b"DNT: 0",
        b"Upgrade-Insecure-Requests: 1",
        b"Sec-Fetch-Dest: document",
        b"Sec-Fetch-Mode: navigate",
        b"Priority: u=0, i",
    ],
    [  # Chrome behind a CDN
        b"x-forwarded-for: 198.51.100.7, 192.0.2.1",
        b"CF-Connecting-IP: 198.51.100.7",
        b"CF-Ray: 9a%%%-FRA",
        b'CF-Visitor: {"scheme":"https"}',
        b'sec-ch-ua: "Chromium";v="142", "Not_A Brand";v="99"',
        b"sec-ch-ua-mobile: ?0",
        b"Accept: text/html,*/*;q=0.8",
        b"Accept-Language: en-GB,en;q=0.9",
        b"Cookie: session=%%%; theme=dark",
        b"Sec-GPC: 1",
        b"Connection: keep-alive",
    ],
    [  # a browser that fetches ahead
        b"Accept: text/html",
        b"Sec-Purpose: prefetch;prerender",
        b"Referer: https://search.example/",
        b"Accept-Language: fr",
        b"traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
    ],
    [  # a browser whose user does not want to be tracked
        b"Accept: text/html",
        b"Referer: https://example.org/%%%",
        b"DNT: 1",
        b"X-Forwarded-For: 2001:db8:%%%::1",
    ],
    [b"Accept: */*", b"X-Forwarded-For: 203.0.113.9", b"Authorization: Bearer %%%"],
]
_ENDS = [b"\n", b"\r", b"\r\r\n", b"\n\r\n", b"", b"\r\n\r\n", b" \r\n", b"\x00\r\n"]
_VALUES = [b"", b" ", b"\t", b"x, close", b"close", b"1", b"\xff\xfe", b"a\x00", b"a\x7f", b"a, b"]
_LENGTHS = [100, 300, 2100, 4000, 8100, 9000]
# Longer heads are refused sooner or later, depending on how they arrive.
_MAX_BYTES = 14 * 1024
_END_OF_HEAD = re.compile(rb"\n\r?(?=\n)")


class Case(NamedTuple):
    mode: Mode
    template: bytes
    cuts: tuple[int, ...]  # where a chunk ends

    def visit(self, number: int) -> list[bytes]:
        """The chunks of a request; in the first mode, each is the same."""
        data = self.template.replace(_VISIT, b"%03d" % (number if self.mode.varies else 0))
        ends = [*self.cuts, len(data)]
        return [data[start:end] for start, end in zip([0, *self.cuts], ends, strict=True)]


class _Draft:
    """A request that is being changed, line by line. `ends` are what the lines end with."""

    def __init__(self, chance: random.Random, mode: Mode, number: int) -> None:
        self.chance = chance
        host = b"Host: " + HOST
        agent = chance.choice(_AGENTS).replace(_CASE, b"case-%06d" % number)
        fields = [host, agent, *chance.choice(_HEADS)]
        if mode.version == "1.0":
            fields.append(b"Connection: close")
        target = chance.choice(["/live", "/live", "/passes?a=1", "/moved", "/expired", "/unknown"])
        self.lines = [f"GET {target} HTTP/{mode.version}".encode(), *fields, b""]
        self.ends = [b"\r\n"] * len(self.lines)
        self.body = b""

    @property
    def data(self) -> bytes:
        pairs = zip(self.lines, self.ends, strict=True)
        return b"".join(line + end for line, end in pairs) + self.body

    def insert(self, place: int, *lines: bytes) -> None:
        self.lines[place:place] = lines
        self.ends[place:place] = [b"\r\n"] * len(lines)

    def anywhere(self, first: int = 1) -> int:
        """The place of a line, by default of a field."""
        return self.chance.randrange(first, max(len(self.lines) - 1, first + 1))

    def split(self, place: int) -> tuple[bytes, bytes]:
        name, _, value = self.lines[place].partition(b": ")
        return name, value


def cases(seed: int, count: int) -> Iterator[Case]:
    """The modes take turns."""
    chance = random.Random(seed)
    for number in range(count):
        mode = MODES[number % len(MODES)]
        data = _mutated(chance, mode, number)
        while len(data) > _MAX_BYTES:
            data = _mutated(chance, mode, number)
        # What follows a head comes with its end: if it is bad, it matters whether it came before
        # the answer.
        end = _END_OF_HEAD.search(data)
        places = range(1, len(data) if end is None else end.end())
        cuts = chance.sample(places, min(chance.choice([0, 0, 1, 1, 2, 4]), len(places)))
        yield Case(mode, data, tuple(sorted(cuts)))


def _mutated(chance: random.Random, mode: Mode, number: int) -> bytes:
    draft = _Draft(chance, mode, number)
    for _ in range(chance.choice([0, 1, 1, 1, 2, 2, 3, 5])):
        chance.choice(_CHANGES)(draft)
    return _with_odd_bytes(chance, draft.data) if chance.random() < 0.3 else draft.data


def _with_odd_bytes(chance: random.Random, data: bytes) -> bytes:
    """Some are inserted, replaced or left out."""
    for _ in range(chance.choice([1, 1, 2, 8])):
        place = chance.randrange(len(data))
        new = chance.choice([chance.randbytes(1), b"\r", b"\n", b" ", b":", b""])
        data = data[:place] + new + data[place + chance.randrange(2) :]
    return data or b" "


def _change_name(draft: _Draft) -> None:
    place = draft.anywhere()
    name, value = draft.split(place)
    how: Callable[[bytes], bytes] = draft.chance.choice(
        [
            bytes.upper,
            bytes.lower,
            lambda it: it + b" ",
            lambda it: b" " + it,
            lambda it: b"X-" + it,
        ]
    )
    draft.lines[place] = how(name) + b": " + value


def _change_value(draft: _Draft) -> None:
    place = draft.anywhere()
    name, value = draft.split(place)
    other = draft.chance.choice(_VALUES)
    draft.lines[place] = name + draft.chance.choice(
        [b": " + other, b":" + value, b": \t" + value + b" \t", b": " + value + b", " + other]
    )


def _reorder(draft: _Draft) -> None:
    fields = draft.lines[1:-1]
    draft.chance.shuffle(fields)
    draft.lines[1:-1] = fields


def _repeat(draft: _Draft) -> None:
    """A line, or its name with another value."""
    name, value = draft.split(draft.anywhere())
    other = draft.chance.choice([value, value[::-1], *_VALUES])
    draft.insert(draft.anywhere(), name + b": " + other)


def _leave_out(draft: _Draft) -> None:
    place = draft.anywhere()
    if len(draft.lines) > 2:
        del draft.lines[place], draft.ends[place]


def _fold(draft: _Draft) -> None:
    place = draft.anywhere()
    name, value = draft.split(place)
    half = draft.chance.randrange(len(value) + 1)
    draft.lines[place] = name + b": " + value[:half]
    draft.insert(place + 1, draft.chance.choice([b" ", b"\t"]) + value[half:])


def _change_end(draft: _Draft) -> None:
    draft.ends[draft.anywhere(0)] = draft.chance.choice(_ENDS)


def _lengthen(draft: _Draft) -> None:
    place = draft.anywhere()
    draft.lines[place] += b"x" * draft.chance.choice(_LENGTHS)


def _add_field(draft: _Draft) -> None:
    """Among them Connection, Expect and Upgrade."""
    draft.insert(draft.anywhere(), *map(_to_bytes, draft.chance.choice(FIELDS)))


def _change_host(draft: _Draft) -> None:
    draft.insert(draft.anywhere(), *map(_to_bytes, draft.chance.choice(HOSTS)))
    if draft.chance.random() < 0.7:
        kept = [n for n, line in enumerate(draft.lines) if line != b"Host: " + HOST]
        draft.lines = [draft.lines[n] for n in kept]
        draft.ends = [draft.ends[n] for n in kept]


def _add_body(draft: _Draft) -> None:
    """With a Content-Length or a Transfer-Encoding, as a rule."""
    field, body = draft.chance.choice(BODIES)
    if field:
        draft.insert(draft.anywhere(), _to_bytes(field))
    draft.body += _to_bytes(body)


def _add_after_end(draft: _Draft) -> None:
    """Lines that would belong to the head."""
    fields = draft.chance.sample(draft.lines[1:], min(len(draft.lines) - 1, 2))
    draft.body += b"\r\n".join([*fields, b"", draft.chance.choice([b"", b"\r\n"])])


def _change_request_line(draft: _Draft) -> None:
    chance = draft.chance
    method, target, version = draft.lines[0].split(b" ", 2)
    draft.lines[0] = b" ".join(
        chance.choice(
            [
                (_to_bytes(chance.choice(METHODS)), target, version),
                (method, _to_bytes(chance.choice(TARGETS)), version),
                (method, target + _to_bytes(chance.choice(QUERIES)), version),
                (method, target, b"HTTP/" + _to_bytes(chance.choice(VERSIONS))),
            ]
        )
    )


def _pipeline(draft: _Draft) -> None:
    draft.body += draft.chance.choice([draft.data, draft.data * 3, b"GET /moved HTTP/1.1\r\n\r\n"])


def _cut_off(draft: _Draft) -> None:
    place = draft.anywhere()
    del draft.lines[place:], draft.ends[place:]
    draft.insert(place, b"", b"")


def _to_bytes(text: str) -> bytes:
    return text.encode("latin-1")


_CHANGES = [
    _change_name,
    _change_value,
    _reorder,
    _repeat,
    _repeat,
    _leave_out,
    _fold,
    _change_end,
    _lengthen,
    _add_field,
    _add_field,
    _change_host,
    _add_body,
    _add_after_end,
    _change_request_line,
    _pipeline,
    _cut_off,
]
