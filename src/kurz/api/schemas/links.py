"""Links as the API takes and gives them."""

from typing import Annotated, Any, Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

from kurz.api.schemas.pages import Paged
from kurz.api.schemas.problems import Problem
from kurz.links import fields
from kurz.links.model import DestinationStatus, LinkType, Status, Strategy


class LinkCreate(BaseModel):
    """A link to make. Without an account only `original_url` and `expires_in` may be sent."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"original_url": "https://example.com/a/long/path"}]},
    )

    original_url: str = Field(description="Where the link leads: an http or https URL.")
    custom_code: str | None = Field(None, description="The code you want; 3 to 64 characters.")
    strategy: Strategy | None = Field(None, description="How the code is made.")
    starts_at: AwareDatetime | None = Field(None, description="The link answers from then on.")
    expires_at: AwareDatetime | None = Field(None, description="The link answers until then.")
    expires_in: Annotated[int, Field(strict=True)] | None = Field(
        None, description="Seconds until it expires, instead of `expires_at`."
    )
    title: str | None = Field(None, max_length=fields.MAX_TITLE_LENGTH)
    tags: list[str] = Field(default_factory=list, max_length=fields.MAX_TAGS)
    notes: str | None = Field(None, max_length=fields.MAX_NOTES_LENGTH)
    redirect_status: Literal[301, 302, 307, 308] | None = None
    forward_query: bool = Field(
        default=False, strict=True, description="Append the visitor's query to the destination."
    )
    max_clicks: Annotated[int, Field(strict=True, ge=1, le=fields.MAX_CLICKS)] | None = Field(
        None, description="Redirects until the link is used up."
    )


class LinkRead(BaseModel):
    """A link."""

    id: int
    workspace_id: int
    short_code: str
    short_url: str
    original_url: str
    canonical_url: str
    link_type: LinkType
    status: Status
    is_paused: bool = Field(description="Also told of a link that has expired meanwhile.")
    strategy: Strategy
    owner_id: int | None
    version: int
    created_at: AwareDatetime
    updated_at: AwareDatetime
    starts_at: AwareDatetime | None
    expires_at: AwareDatetime | None
    deleted_at: AwareDatetime | None = Field(description="Since when it is in the trash.")
    swept_at: AwareDatetime | None = Field(
        description="The same, if the reaper moved it there after it had expired."
    )
    purged_at: AwareDatetime | None = Field(
        description="From when on the reaper deletes it from the trash for ever; null: never."
    )
    redirect_status: int
    title: str | None
    tags: list[str]
    notes: str | None
    forward_query: bool
    max_clicks: int | None
    clicks_used: int = Field(description="How many of `max_clicks` are used up.")
    redirect_count: int
    avg_redirect_ms: float | None
    destination_status: DestinationStatus | None = Field(
        description="What checks say of the destination; null: it was not its turn yet."
    )
    destination_http_status: int | None = Field(description="What it answered last.")
    last_checked_at: AwareDatetime | None
    held_at: AwareDatetime | None = Field(
        description="Since when visitors are warned first, because it could not be screened."
    )


class NewLinkRead(LinkRead):
    """A new link. One made without an account has a `claim_token`. Keep it: it is shown once, and
    proves later that the link is yours."""

    claim_token: str | None = None


class CodeAvailability(BaseModel):
    """Whether a link could be made with this `custom_code`. `problem` is what it would be refused
    with, null if it is free."""

    code: str
    is_free: bool
    problem: Problem | None
    link_id: int | None = Field(description="Your own link that has it, also in the trash.")
    short_url: str | None = Field(description="The short URL that it would make.")


class LinkEdit(BaseModel):
    """What to change: what is left out stays, null clears."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"title": "The long one"}]}
    )

    original_url: str | None = None
    custom_code: str | None = Field(None, description="Another code; the old one stops answering.")
    starts_at: AwareDatetime | None = None
    expires_at: AwareDatetime | None = None
    expires_in: Annotated[int, Field(strict=True)] | None = Field(
        None, description="Seconds from now until it expires, instead of `expires_at`."
    )
    title: str | None = Field(None, max_length=fields.MAX_TITLE_LENGTH)
    tags: list[str] | None = Field(None, max_length=fields.MAX_TAGS)
    notes: str | None = Field(None, max_length=fields.MAX_NOTES_LENGTH)
    redirect_status: Literal[301, 302, 307, 308] | None = None
    forward_query: bool | None = Field(None, strict=True)
    max_clicks: Annotated[int, Field(strict=True, ge=1, le=fields.MAX_CLICKS)] | None = None
    is_paused: bool | None = Field(
        None, strict=True, description="A paused link answers as if it did not exist."
    )


class LinkRestore(BaseModel):
    model_config = ConfigDict(extra="forbid")

    expires_at: AwareDatetime | None = Field(
        None, description="An expired link lives until then; without it, for ever."
    )


class LinkList(BaseModel):
    """A page of links. `total` counts up to 10,000; beyond that `is_total_exact` is false. Ask for
    the next page with `next_cursor`."""

    links: list[LinkRead]
    total: int
    is_total_exact: bool
    next_cursor: str | None


class DeedRead(BaseModel):
    """What somebody did to a link. `changes`: field → value before and after."""

    act: str
    account_id: int | None
    version: int
    changed_at: AwareDatetime
    changes: dict[str, tuple[Any, Any]]


class LinkHistory(Paged):
    history: list[DeedRead]


class TrashEmptied(BaseModel):
    """`is_empty` false: there were too many for one request. Ask again."""

    purged: int = Field(description="Links that were deleted for ever.")
    is_empty: bool


class TagRead(BaseModel):
    tag: str
    links: int


class TagList(Paged):
    tags: list[TagRead]


class TagRename(BaseModel):
    model_config = ConfigDict(extra="forbid")

    tag: str = Field(
        max_length=fields.MAX_TAG_LENGTH, description="The new name; one that exists merges them."
    )


class TagChange(BaseModel):
    links: int = Field(description="Links that were changed.")


class BulkItem(BaseModel):
    """One thing to do. `create` takes `link`, `edit` takes `id` and `changes`, `delete`, `restore`
    and `purge` (from the trash, for ever) take `id`; `version` makes sure that nobody else changed
    it since."""

    model_config = ConfigDict(extra="forbid")

    act: Literal["create", "edit", "delete", "restore", "purge"]
    id: Annotated[int, Field(strict=True, ge=0, lt=2**53)] | None = None
    version: Annotated[int, Field(strict=True, ge=1)] | None = None
    link: LinkCreate | None = None
    changes: LinkEdit | None = None


class Bulk(BaseModel):
    model_config = ConfigDict(extra="forbid")

    items: list[dict[str, Any]] = Field(
        min_length=1, max_length=1000, description="Each a `BulkItem`."
    )


class BulkResult(BaseModel):
    """`status` is what the same thing alone would have been answered with."""

    status: int
    link: NewLinkRead | None = None
    problem: Problem | None = None


class BulkResults(BaseModel):
    """In the order of the items."""

    results: list[BulkResult]


class ClaimItem(BaseModel):
    """A link that was made without an account, as the browser remembers it."""

    model_config = ConfigDict(extra="forbid")

    original_url: str | None = None
    short_code: str | None = None
    claim_token: str | None = None


class Claims(BaseModel):
    model_config = ConfigDict(extra="forbid")

    items: list[ClaimItem] = Field(min_length=1, max_length=100)


class ClaimResult(BaseModel):
    """`claimed`: the link itself is yours now. `created`: it could not be claimed, for whatever
    reason, and a new link of yours leads to its URL. `not_claimed`: neither; see `problem`."""

    result: Literal["claimed", "created", "not_claimed"]
    link: LinkRead | None = None
    problem: Problem | None = None


class ClaimResults(BaseModel):
    results: list[ClaimResult]


class QrQuery(BaseModel):
    model_config = ConfigDict(extra="forbid")

    format: Literal["svg", "png"] = "svg"
    size: int = Field(512, ge=64, le=2048, description="Width and height in pixels.")
    margin: int = Field(4, ge=0, le=16, description="Quiet zone around it, in modules.")
    error: Literal["L", "M", "Q", "H"] = Field("M", description="How much damage it survives.")
    dark: str = Field("#000000", pattern=r"^#[0-9a-fA-F]{6}$")
    light: str = Field("#ffffff", pattern=r"^(#[0-9a-fA-F]{6}|transparent)$")
