"""The lists of an installation: their files, and the file that they are compiled into."""

import contextlib
import mmap
import os
import stat
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from functools import cached_property, partial
from hashlib import blake2b
from importlib.resources import files
from pathlib import Path
from typing import Any

from kurz import __version__
from kurz.files import open_new
from kurz.links.urls import UrlAddress
from kurz.safety.blocklists import MAX_LINE_BYTES, ListUnreadable, Reading
from kurz.safety.list_table import Table, TableBroken, TableBuilder

FILE_NAME = "lists"
FORGOTTEN_SECONDS = 3600.0  # a draft that was not changed for this long is abandoned
SHORTENERS = files(__package__) / "shorteners.txt"


class ListRole(StrEnum):
    BLOCK = "block"
    ALLOW = "allow"


# The properties of a file, so that a replaced file is noticed.
Looks = list[int] | None


@dataclass(frozen=True, slots=True)
class Source:
    role: ListRole
    path: Path

    def look(self) -> Looks:
        """None: there is no file."""
        try:
            found = self.path.stat()
        except OSError:
            return None
        return [found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns]


@dataclass(frozen=True)
class Sources:
    """Lists that destinations are screened by. `has_shorteners`: the included list of other
    shorteners is a blocklist too."""

    lists: tuple[Source, ...] = ()
    has_shorteners: bool = False

    @property
    def is_empty(self) -> bool:
        return not self.lists and not self.has_shorteners

    def look(self) -> list[Any]:
        """Everything that can be known without reading them: which files they are, and their
        properties."""
        return [self.names(), [item.look() for item in self.lists]]

    def names(self) -> list[Any]:
        """Which files they are, and the version of kurz: another version may parse them differently
        and include other lists."""
        names = [[item.role, str(item.path.absolute())] for item in self.lists]
        return [__version__, self.has_shorteners, *names]


@dataclass(frozen=True, slots=True)
class SourceState:
    """The result of compiling a list. `problem`: why it could not be read."""

    role: ListRole
    path: str
    rules: int = 0
    bad_lines: int = 0
    problem: str | None = None


class Lists:
    """Compiled lists. `digest` changes with their content."""

    def __init__(self, data: bytes | mmap.mmap) -> None:
        """Raises `TableBroken`."""
        self._table = Table(memoryview(data))
        about = self._table.about
        self.looks: list[Any] = about["looks"]  # of the sources, when they were read
        self.digest: str = about["digest"]
        self.hosts = self._table.hosts
        self.size = len(data)

    def is_of(self, sources: Sources) -> bool:
        """Whether they were made of these sources, even if those have changed since."""
        return bool(self.looks[0] == sources.names())

    def find(self, address: UrlAddress) -> int:
        """The flags of `list_table` for the address."""
        return self._table.find(address)

    @cached_property
    def sources(self) -> tuple[SourceState, ...]:
        return tuple(
            SourceState(**{**item, "role": ListRole(item["role"])})
            for item in self._table.about["sources"]
        )

    @cached_property
    def knows_blocked(self) -> bool:
        """Whether every blocklist could be read."""
        return self._could_read(ListRole.BLOCK)

    @cached_property
    def knows_allowed(self) -> bool:
        return self._could_read(ListRole.ALLOW)

    @property
    def is_whole(self) -> bool:
        return self.knows_blocked and self.knows_allowed

    def _could_read(self, role: ListRole) -> bool:
        return all(item.problem is None for item in self.sources if item.role is role)


def compile_lists(sources: Sources) -> bytes:
    """What can be read of them, and which cannot. A million lines take some seconds."""
    looks = sources.look()  # before: what changes meanwhile is read again
    builder, digest = TableBuilder(), blake2b(digest_size=16)
    states = [_read(source, builder, digest) for source in sources.lists]
    if sources.has_shorteners:
        digest.update(b"\0shorteners\0")
        with SHORTENERS.open("rb") as lines:
            for rule in Reading(_told(lines, digest)):
                builder.add(rule)
    about: Mapping[str, Any] = {
        "looks": looks,
        "digest": digest.hexdigest(),
        "sources": [asdict(state) for state in states],
    }
    return builder.to_bytes(about)


def save_lists(folder: Path, data: bytes) -> None:
    """Writes them where every process finds them: completely, or not at all. Raises `OSError`."""
    folder.mkdir(mode=0o700, exist_ok=True)
    _clear(folder)
    draft = folder / f"{FILE_NAME}.{os.getpid()}.new"
    try:
        draft.unlink(missing_ok=True)
        with open_new(draft) as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(folder / FILE_NAME)
    except OSError:
        draft.unlink(missing_ok=True)
        raise


def _clear(folder: Path) -> None:
    """Removes drafts of processes that ended while they wrote."""
    for draft in folder.glob(f"{FILE_NAME}.*.new"):
        with contextlib.suppress(FileNotFoundError):
            if time.time() - draft.stat().st_mtime > FORGOTTEN_SECONDS:
                draft.unlink()


def open_lists(folder: Path) -> Lists:
    """Opens the compiled lists by mapping the file: all processes share the memory. Raises
    `OSError` or `TableBroken`."""
    with (folder / FILE_NAME).open("rb") as file:
        if os.fstat(file.fileno()).st_size == 0:
            raise TableBroken("it is empty")
        return Lists(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))


def _read(source: Source, builder: TableBuilder, digest: Any) -> SourceState:
    """Adds the rules of a list; none if it turns out to be unreadable."""
    name = str(source.path)
    digest.update(f"\0{source.role}\0".encode())
    is_allowed, position = source.role is ListRole.ALLOW, builder.position()
    try:
        if not stat.S_ISREG(source.path.stat().st_mode):
            raise ListUnreadable("it is not a file")
        with source.path.open("rb") as file:
            lines = iter(partial(file.readline, MAX_LINE_BYTES + 1), b"")
            reading = Reading(_told(lines, digest))
            left_out = sum(not builder.add(rule, is_allowed=is_allowed) for rule in reading)
        if not is_allowed and not reading.rules:
            raise ListUnreadable("it has no rules")
    except (OSError, ListUnreadable) as error:
        builder.go_back(position)
        problem = error.strerror if isinstance(error, OSError) else str(error)
        return SourceState(source.role, name, problem=problem or str(error))
    rules, bad = reading.rules - left_out, reading.bad + left_out
    return SourceState(source.role, name, rules, bad)


def _told(lines: Any, digest: Any) -> Iterator[bytes]:
    for line in lines:
        digest.update(line)
        yield line
