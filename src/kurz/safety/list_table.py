"""Compiled lists: searched without parsing, and shared by all processes through a mapped file.

The hosts are a sorted table of 64-bit hashes: each is at the place proportional to its value, or at
the first free place after it. A million of them take 13 MB. Patterns of a host are sorted by their
first piece, so that few of many are tried.
"""

import json
import struct
from array import array
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import reduce
from hashlib import blake2b
from itertools import groupby
from operator import or_
from typing import Any

from kurz.links.urls import UrlAddress
from kurz.safety.blocklists import ListRule, target_of

MAGIC = b"kurzlist"
VERSION = 2
FILLED = 0.6  # of the places in the table: less takes more memory, more takes longer
DEEP = 63  # labels
TAIL = 64  # places added after the table for what does not fit
MOST_ALIKE = 1000  # patterns of a host with the same first piece: each is tried for each URL there

# Magic, version, share, places, hosts, depths, patterns, bytes of texts and of the rest, checksum.
# The hosts are spread over `share` places; the others are for what does not fit there.
_HEAD = struct.Struct("<8sQQQQQQQQ32s")
_ROW_BYTES = 8
_KEY = ~7 & (2**64 - 1)  # the last bits of a number in the table are flags
_WORD = 64
_OFFSET = struct.Struct("<I")


# What lists say about a text: a host, or a URL without its scheme. Plain numbers, for speed.
BLOCKED = 1
ALLOWED = 2
MORE = 4  # a host of which some URLs are blocked or allowed


class TableBroken(Exception):
    """These bytes are not compiled lists, or incomplete."""


def key_of(text: str) -> int:
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "little") & _KEY


class TableBuilder:
    """Collects rules, and builds the bytes of a table."""

    def __init__(self) -> None:
        self._rows = array("Q")
        self._patterns: dict[tuple[str, _Pattern], None] = {}  # a host, and one of its patterns
        self._alike: Counter[tuple[str, str]] = Counter()
        self._depths = 0

    def add(self, rule: ListRule, *, is_allowed: bool = False) -> bool:
        """False: there are too many like this one."""
        flag = ALLOWED if is_allowed or rule.is_exception else BLOCKED
        host, port, path, _ = rule
        if path is not None and len(path) > 1:
            pattern = (host, (flag, port or "", path))
            if pattern in self._patterns:
                return True
            if self._alike[host, path[0]] >= MOST_ALIKE:
                return False
            self._alike[host, path[0]] += 1
            self._patterns[pattern] = None
        self._depths |= 1 << _depth(host)
        if port is None and path is None:
            self._rows.append(key_of(host) | flag)
            return True
        self._rows.append(key_of(host) | MORE)
        if path is None or len(path) == 1:
            authority = host if port is None else f"{host}:{port}"
            self._rows.append(key_of(authority + "".join(path or ())) | flag)
        return True

    def position(self) -> tuple[int, int]:
        """The current position, for `go_back`."""
        return len(self._rows), len(self._patterns)

    def go_back(self, position: tuple[int, int]) -> None:
        """Removes everything that was added since then."""
        del self._rows[position[0] :]
        while len(self._patterns) > position[1]:
            (host, (_, _, path)), _ = self._patterns.popitem()
            self._alike[host, path[0]] -= 1

    def to_bytes(self, about: Mapping[str, Any]) -> bytes:
        """The table's bytes, with information about the lists as JSON."""
        hosts = 0
        slots = max(int(len(self._rows) / FILLED), TAIL)
        table = array("Q", bytes(slots * _ROW_BYTES))
        place = -1
        for row in _merge(self._rows):
            place = max(place + 1, (row & _KEY) * slots >> _WORD)
            if place >= len(table) - 1:  # the last one stays empty: a lookup ends there
                table.extend([0] * TAIL)
            table[place] = row
            hosts += 1
        table.append(0)
        texts, index = self._texts()
        rest = json.dumps(about, ensure_ascii=False).encode()
        body = b"".join((table.tobytes(), index.tobytes(), texts, rest))
        places = (len(table), hosts, self._depths, len(index) // 2, len(texts), len(rest))
        head = (MAGIC, VERSION, slots, *places)
        return _HEAD.pack(*head, _checksum(head, body)) + body

    def _texts(self) -> tuple[bytes, "array[int]"]:
        """The patterns of each host, and their offsets: keys of hosts, then offsets."""
        by_key: dict[int, list[_Pattern]] = defaultdict(list)
        for host, pattern in self._patterns:
            by_key[key_of(host)].append(pattern)
        places, texts = array("Q"), bytearray()
        for patterns in by_key.values():
            places.append(len(texts))
            texts += _pack(patterns)
        return bytes(texts), array("Q", by_key) + places


class Table:
    """Searches the bytes of a table, wherever they are. `TableBroken`: this is not a table."""

    def __init__(self, data: memoryview) -> None:
        if len(data) < _HEAD.size:
            raise TableBroken("it is too short")
        *head, checksum = _HEAD.unpack(data[: _HEAD.size])
        magic, version, self._slots, places, self.hosts, depths, patterns, texts, rest = head
        if magic != MAGIC or version != VERSION:
            raise TableBroken("it has an unknown format version")
        body = data[_HEAD.size :]
        ends = [places * _ROW_BYTES]
        ends.append(ends[-1] + 2 * patterns * _ROW_BYTES)
        ends += [ends[-1] + texts, ends[-1] + texts + rest]
        if len(body) != ends[-1] or _checksum(head, body) != checksum:
            raise TableBroken("it is damaged")
        self._some_depths = [depth for depth in range(1, DEEP) if depths >> depth & 1]
        self._is_deep = bool(depths >> DEEP)
        self._table = body[: ends[0]].cast("Q")
        index = body[ends[0] : ends[1]].cast("Q").tolist()
        self._patterns = dict(zip(index[:patterns], index[patterns:], strict=True))
        self._texts = body[ends[1] : ends[2]]
        self.about: Mapping[str, Any] = json.loads(bytes(body[ends[2] :]))

    def find(self, address: UrlAddress) -> int:
        """The flags of everything that names the address: its host, a parent domain, or a URL."""
        flags = 0
        labels = address.host.split(".")
        table, slots = self._table, self._slots
        for depth in self._depths_of(len(labels)):
            host = ".".join(labels[-depth:])
            # Like `key_of` and `_flags`, but inlined: calls would take half of the time.
            digest = blake2b(host.encode(), digest_size=8).digest()
            key = int.from_bytes(digest, "little") & _KEY
            place = key * slots >> _WORD
            row = table[place]
            while 0 < row < key:
                place += 1
                row = table[place]
            if row & _KEY == key:
                flags |= row & 7
                if row & MORE:
                    flags |= self._flags_of_urls(host, address)
        return flags

    def _depths_of(self, labels: int) -> Iterable[int]:
        """How many of its labels to search: only as many as there are in the lists."""
        if labels < DEEP or not self._is_deep:
            return self._some_depths[: bisect_right(self._some_depths, labels)]
        return (*self._some_depths, *range(DEEP, labels + 1))

    def _flags(self, key: int) -> int:
        table = self._table
        place = key * self._slots >> _WORD
        while True:
            row = table[place]
            if row >= key:
                return row & 7 if row & _KEY == key else 0
            if not row:
                return 0
            place += 1

    def _flags_of_urls(self, host: str, address: UrlAddress) -> int:
        path, target = target_of(address.path, ""), target_of(address.path, address.query)
        there = f"{host}:{address.port}"
        flags = self._flags(key_of(there))
        for text in {path, target}:
            flags |= self._flags(key_of(host + text)) | self._flags(key_of(there + text))
        for flag, port, others in self._patterns_of(host, target.encode()):
            if port in ("", address.port) and _fits(others, target):
                flags |= flag
        return flags

    def _patterns_of(self, host: str, target: bytes) -> Iterator[tuple[int, str, list[str]]]:
        """The patterns whose first piece the target begins with: flags, ports, and the pieces of
        their paths."""
        place = self._patterns.get(key_of(host))
        if place is None:
            return
        groups = _Groups(self._texts[place:])
        end = target
        while (at := bisect_right(groups, end) - 1) >= 0:
            first = groups[at]
            if target.startswith(first):
                yield from groups.patterns(at)
                if not first:
                    return
                end = first[:-1]
            else:  # every other first piece of the target is a prefix of this one too
                end = _common(first, target)


# Flags, a port or none, and the pieces of a path.
_Pattern = tuple[int, str, tuple[str, ...]]


def _pack(patterns: Iterable[_Pattern]) -> bytes:
    """In groups by first piece: how many, where they end, first pieces and patterns as JSON."""
    groups: dict[bytes, list[_Pattern]] = defaultdict(list)
    for pattern in sorted(patterns):
        groups[pattern[2][0].encode()].append(pattern)
    ends, body = bytearray(), bytearray()
    for first in sorted(groups):
        body += first
        ends += _OFFSET.pack(len(body))
        body += json.dumps(groups[first]).encode()
        ends += _OFFSET.pack(len(body))
    return _OFFSET.pack(len(groups)) + ends + body


class _Groups(Sequence[bytes]):
    """The sorted first pieces of patterns, read in place."""

    def __init__(self, data: memoryview) -> None:
        self._count: int = _OFFSET.unpack_from(data)[0]
        self._ends = data[_OFFSET.size :]
        self._body = data[_OFFSET.size * (1 + 2 * self._count) :]

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, at: Any) -> Any:
        return bytes(self._body[self._end(2 * at - 1) : self._end(2 * at)])

    def patterns(self, at: int) -> Any:
        return json.loads(bytes(self._body[self._end(2 * at) : self._end(2 * at + 1)]))

    def _end(self, number: int) -> int:
        if number < 0:
            return 0
        end: int = _OFFSET.unpack_from(self._ends, number * _OFFSET.size)[0]
        return end


def _merge(rows: "array[int]") -> Iterator[int]:
    """Sorted, each host once, with all its flags."""
    for _, same in groupby(sorted(rows), _KEY.__and__):
        yield reduce(or_, same)


def _depth(host: str) -> int:
    """How many labels it has, up to a maximum."""
    return min(host.count(".") + 1, DEEP)


def _common(one: bytes, other: bytes) -> bytes:
    """The common prefix of both."""
    length = 0
    while one[: length + 1] == other[: length + 1] and length < min(len(one), len(other)):
        length += 1
    return one[:length]


def _fits(pieces: Sequence[str], target: str) -> bool:
    """At least two pieces; the target begins with the first."""
    first, *others = pieces
    place = len(first)
    for piece in others[:-1]:
        found = target.find(piece, place)
        if found < 0:
            return False
        place = found + len(piece)
    return target.endswith(others[-1]) and len(target) - len(others[-1]) >= place


def _checksum(head: Any, body: bytes | memoryview) -> bytes:
    digest = blake2b(repr(tuple(head)).encode(), digest_size=32)
    digest.update(body)
    return digest.digest()
