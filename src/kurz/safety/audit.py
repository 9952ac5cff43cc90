"""The audit log: what administrators and the operator did. It is written before the action, so that
nothing is done without an entry."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, Protocol


class Via(StrEnum):
    API = "api"
    CLI = "cli"
    JOB = "job"


@dataclass(frozen=True, slots=True)
class Actor:
    """Who acts, and how. No account: the operator, or a job."""

    account_id: int | None
    via: Via


OPERATOR = Actor(None, Via.CLI)


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """`account_id` None: the operator on the command line, or a job."""

    id: int
    done_at: datetime
    account_id: int | None
    via: Via
    action: str
    subject: str | None
    details: Mapping[str, Any]


class AuditStore(Protocol):
    """Rows are only ever added. An outage raises `StoreUnavailable`."""

    async def record(
        self,
        actor: Actor,
        action: str,
        subject: str | None = None,
        details: Mapping[str, Any] | None = None,
    ) -> None:
        """To be called before the action. `details` are plain values, and no secrets."""

    async def list(
        self,
        *,
        before: int | None = None,
        limit: int,
        action: str | None = None,
        account_id: int | None = None,
        via: Via | None = None,
    ) -> Sequence[AuditEntry]:
        """The newest first, from the one before a number on; only those that match."""
