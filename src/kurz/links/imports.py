"""How much one import over HTTP may bring, and how many may run at once. The command line has no
such limits: its user owns the machine."""

from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Protocol

from kurz.errors import Kind, KurzError
from kurz.people.accounts import Account

MAX_PROBLEMS = 1000  # that are told of one by one; the others are only counted
# What a row takes on average, at most: a long URL and a note. A single one may have 64 KiB.
BYTES_A_ROW = 4096
LEAST_BYTES = 1024 * 1024


class ImportTooLarge(KurzError):
    kind = Kind.INVALID
    code = "import-too-large"
    title = "Import file too large"


class ImportRunning(KurzError):
    kind = Kind.CONFLICT
    code = "import-running"
    title = "Another import is already running"


@dataclass(frozen=True, slots=True)
class ImportLimits:
    """`rows` for everybody, `many_rows` for those whom an administrator has allowed it."""

    rows: int
    many_rows: int

    def rows_of(self, account: Account) -> int:
        return max(self.rows, self.many_rows) if account.may_import_many else self.rows

    def cost_of(self, rows: int, most: int) -> int:
        """How many items of bulk requests the rows of a file count as: each as one, but less for
        those who may import more at once, `most` rows."""
        return max(1, -(-rows * self.rows // most))


def most_bytes(rows: int) -> int:
    return max(LEAST_BYTES, rows * BYTES_A_ROW)


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
        """Raises `ImportRunning` if another import has the slot, after this process stood still."""


class ImportSlots(Protocol):
    def hold(self, account_id: int) -> AbstractAsyncContextManager[ImportSlot]:
        """One import of an account at a time, in all workers and instances: `ImportRunning` for the
        second one. If its process is killed, the slot becomes free after a minute."""
