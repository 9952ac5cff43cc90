"""Reports, bans and the audit log as the API tells of them."""

from typing import Any, Literal

from pydantic import AwareDatetime, BaseModel, Field

from kurz.api.schemas.people import Strict
from kurz.safety.audit import Via
from kurz.safety.bans import Cause
from kurz.safety.reports import MAX_CONTACT_LENGTH, MAX_MESSAGE_LENGTH, Category, State


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
        description="How to reach you, if you want an answer; at most"
        f" {MAX_CONTACT_LENGTH} characters.",
    )


class ReportReceived(BaseModel):
    """The same whether or not it was reported before."""

    status: Literal["received"] = "received"


class ReportRead(BaseModel):
    id: int
    link_id: int
    workspace_id: int
    short_code: str
    short_url: str
    location: str = Field(description="Where the link led when it was reported.")
    category: Category
    message: str | None
    contact: str | None
    reported_at: AwareDatetime
    state: State
    decided_by: int | None = Field(description="null: nobody yet, or the operator.")
    decided_at: AwareDatetime | None
    note: str | None


class ReportList(BaseModel):
    reports: list[ReportRead]
    total: int
    next_cursor: str | None


class ReportDecision(Strict):
    state: Literal["upheld", "dismissed"] = Field(
        description="`upheld` bans the link, and decides every open report of it."
    )
    bans_host: bool = Field(
        default=False, description="Upheld: bans the host as well that it led to."
    )
    note: str | None = Field(None, description="For administrators.")


class BanReason(Strict):
    reason: str | None = Field(None, description="For administrators: a line of text.")


class BanRead(BaseModel):
    """Of a host with all below it, or of an account."""

    subject: str = Field(description="The host, or the account's id.")
    reason: str | None
    banned_by: int | None = Field(description="An account; null: the operator.")
    banned_at: AwareDatetime
    is_pending: bool = Field(description="An account's links are just being banned.")


class LinkBanRead(BaseModel):
    link_id: int
    short_code: str | None
    workspace_id: int | None
    cause: Cause
    subject: str | None = Field(description="The host or the account that was banned.")
    reason: str | None
    banned_by: int | None
    banned_at: AwareDatetime


class BanList(BaseModel):
    """A page: hosts come first, then accounts, then links, the latest of them first."""

    hosts: list[BanRead]
    accounts: list[BanRead]
    links: list[LinkBanRead]
    next_cursor: str | None


class DeedRead(BaseModel):
    """`account_id` null: the operator on the command line, or a job."""

    id: int
    done_at: AwareDatetime
    account_id: int | None
    via: Via
    act: str = Field(examples=["ban-host"])
    subject: str | None = Field(examples=["host example.com"])
    details: dict[str, Any]


class Audit(BaseModel):
    deeds: list[DeedRead] = Field(description="The newest first.")
    next_before: int | None = Field(description="Send it as `before` for the next page.")
