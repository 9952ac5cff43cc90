"""Reports, bans and the audit log in the API."""

from typing import Any, Literal

from pydantic import AwareDatetime, BaseModel, Field

from kurz.api.schemas.base import Strict
from kurz.safety.abuse_reports import MAX_CONTACT_LENGTH, MAX_MESSAGE_LENGTH, Category, ReportState
from kurz.safety.audit import Via
from kurz.safety.bans import BanCause


class ReportCreate(Strict):
    short_url: str = Field(
        description="The link: its short URL, its code, or `@workspace/code`.",
        examples=["https://kurz.example/k3mR7xQ"],
        max_length=2048,
    )
    category: Category
    message: str | None = Field(None, description=f"At most {MAX_MESSAGE_LENGTH} characters.")
    contact: str | None = Field(
        None,
        description=f"How to reach you, if you want a reply; at most {MAX_CONTACT_LENGTH}"
        " characters.",
    )


class ReportReceived(BaseModel):
    """The same answer whether or not the link was reported before."""

    status: Literal["received"] = "received"


class ReportRead(BaseModel):
    id: int
    link_id: int
    workspace_id: int
    short_code: str
    short_url: str
    location: str = Field(description="The destination when the link was reported.")
    category: Category
    message: str | None
    contact: str | None
    reported_at: AwareDatetime
    state: ReportState
    decided_by: int | None = Field(description="null: not decided yet, or decided by the operator.")
    decided_at: AwareDatetime | None
    note: str | None


class ReportList(BaseModel):
    reports: list[ReportRead]
    total: int
    next_cursor: str | None


class ReportDecision(Strict):
    state: Literal["upheld", "dismissed"] = Field(
        description="`upheld` bans the link and closes all its open reports."
    )
    bans_host: bool = Field(
        default=False, description="If upheld, also ban the host of the destination."
    )
    note: str | None = Field(None, description="A note for administrators.")


class BanReason(Strict):
    reason: str | None = Field(
        None, description="The reason, for administrators: one line of text."
    )


class BanRead(BaseModel):
    """A ban of a host with all its subdomains, or of an account."""

    subject: str = Field(description="The host, or the account ID.")
    reason: str | None
    banned_by: int | None = Field(description="Account ID; null: the operator.")
    banned_at: AwareDatetime
    is_pending: bool = Field(description="The account's links are still being banned.")


class LinkBanRead(BaseModel):
    link_id: int
    short_code: str | None
    workspace_id: int | None
    cause: BanCause
    subject: str | None = Field(description="The host or account whose ban covers this link.")
    reason: str | None
    banned_by: int | None
    banned_at: AwareDatetime


class BanList(BaseModel):
    """A page: hosts first, then accounts, then links, newest first."""

    hosts: list[BanRead]
    accounts: list[BanRead]
    links: list[LinkBanRead]
    next_cursor: str | None


class AuditEntryRead(BaseModel):
    """`account_id` is null for the operator on the command line, and for jobs."""

    id: int
    done_at: AwareDatetime
    account_id: int | None
    via: Via
    action: str = Field(examples=["ban-host"])
    subject: str | None = Field(examples=["host example.com"])
    details: dict[str, Any]


class Audit(BaseModel):
    entries: list[AuditEntryRead] = Field(description="Newest first.")
    next_before: int | None = Field(description="Send it as `before` for the next page.")
