"""Rows of tables in a portable backup: one file says which columns each table has, and the others
contain rows, as MessagePack."""

from collections.abc import Sequence
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from kurz.errors import BackupBroken

# Rows are read, packed and stored in batches of about this size: what is in memory at a time.
BATCH_BYTES = 1024 * 1024
MAX_BATCH_ROWS = 2000  # the next rows may be much larger: days of many clicks have 10 KB and more
FIRST_BATCH_ROWS = 100
MAX_ROWS_BYTES = 256 * 1024 * 1024  # a batch of the largest rows
MAX_TABLES_BYTES = 1024 * 1024
ROWS = "rows/"

Row = tuple[Any, ...]
_encode = msgspec.msgpack.Encoder().encode
_decode_rows = msgspec.msgpack.Decoder(list[tuple[Any, ...]]).decode


class Tables(msgspec.Struct, frozen=True):
    """`columns` of each table, in the order of its rows. `numbers`: the last ones that were issued
    for rows of a table."""

    columns: dict[str, list[str]]
    numbers: dict[str, Annotated[int, Meta(ge=0, le=2**62)]]


class BatchSize:
    """How many rows the next batch should have, by the size of the last one."""

    def __init__(self) -> None:
        self.rows = FIRST_BATCH_ROWS

    def note(self, rows: int, size: int) -> None:
        fitting = BATCH_BYTES * rows // max(size, 1)
        self.rows = max(min(fitting, self.rows * 4, MAX_BATCH_ROWS), 1)


def name_of(table: str, number: int) -> str:
    return f"{ROWS}{table}/{number:08}"


def table_of(name: str) -> str:
    return name.split("/")[1]


def encode_tables(tables: Tables) -> bytes:
    return msgspec.json.format(msgspec.json.encode(tables), indent=2) + b"\n"


def decode_tables(data: bytes) -> Tables:
    try:
        return msgspec.json.decode(data, type=Tables)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise BackupBroken("The backup is damaged: its list of tables cannot be read.") from None


def encode_rows(rows: Sequence[Row]) -> bytes:
    return _encode(rows)


def decode_rows(data: bytes) -> Sequence[Row]:
    try:
        return _decode_rows(data)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise BackupBroken("The backup is damaged: its rows cannot be read.") from None
