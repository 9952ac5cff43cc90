"""The size of one import over HTTP, and how many may run at once. The command line has no such
limits, because its user owns the machine."""

from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Protocol

from kurz.errors import Conflict, Invalid
from kurz.people.accounts import Account

MAX_PROBLEMS = 1000  # that are listed one by one; the others are only counted
# The most that a row may take on average: a long URL and a note. A single row may have 64 KiB.
BYTES_A_ROW = 4096
LEAST_BYTES = 1024 * 1024
# Rows may have several lines, and empty lines are none. A million lines take 5 s to read.
LINES_A_ROW = 64
LEAST_LINES = 70_000  # more than the longest row has


class ImportTooLarge(Invalid):
    title = "Import file too large"


class ImportRunning(Conflict):
    title = "Another import is already running"


@dataclass(frozen=True, slots=True)
class ImportLimits:
    """`rows` for everyone, `many_rows` for accounts that an administrator has allowed more."""

    rows: int
    many_rows: int

    def rows_of(self, account: Account) -> int:
        return max(self.rows, self.many_rows) if account.may_import_many else self.rows

    def cost_of(self, rows: int, most: int) -> int:
        """How many items of bulk requests the rows of a file count as: one each, but less for
        accounts that may import more (`most` rows)."""
        return max(1, -(-rows * self.rows // most))


def most_bytes(rows: int) -> int:
    return max(LEAST_BYTES, rows * BYTES_A_ROW)


def most_lines(rows: int) -> int:
    return max(LEAST_LINES, rows * LINES_A_ROW)


def too_many_rows(most: int) -> ImportTooLarge:
    return ImportTooLarge(
        f"The file has more than {most:,} rows, your limit for one import. Nothing was"
        " imported. Split the file, or ask an administrator to raise your limit.",
        max_rows=most,
    )


def too_many_bytes(most: int) -> ImportTooLarge:
    return ImportTooLarge(
        f"The file has more than {most_bytes(most):,} bytes, the limit for {most:,} rows."
        " Nothing was imported. Split the file, or ask an administrator to raise your limit.",
        max_rows=most,
    )


class ImportSlot(Protocol):
    def check(self) -> None:
        """Raises `ImportRunning` if another import has the slot, after this process was paused."""


class ImportSlots(Protocol):
    def hold(self, account_id: int) -> AbstractAsyncContextManager[ImportSlot]:
        """One import of an account at a time, in all workers and instances: `ImportRunning` for the
        second one. If its process is killed, the slot becomes free after a minute."""
