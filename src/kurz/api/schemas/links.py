"""Links in the API."""

from typing import Annotated, Any, Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

from kurz.api.schemas.base import Paged, Strict
from kurz.api.schemas.problems import Problem
from kurz.links import fields
from kurz.links.model import DestinationStatus, LinkType, Status, Strategy


class LinkCreate(Strict):
    """A link to create. Without an account, only `original_url` and `expires_in` are allowed."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"original_url": "https://example.com/a/long/path"}]}
    )

    original_url: str = Field(description="The destination: an http or https URL.")
    custom_code: str | None = Field(None, description="A custom code of 3 to 64 characters.")
    strategy: Strategy | None = Field(None, description="How the code is generated.")
    starts_at: AwareDatetime | None = Field(None, description="The link works from this time on.")
    expires_at: AwareDatetime | None = Field(None, description="The link works until this time.")
    expires_in: Annotated[int, Field(strict=True)] | None = Field(
        None, description="Seconds until the link expires. Cannot be combined with `expires_at`."
    )
    title: str | None = Field(None, max_length=fields.MAX_TITLE_LENGTH)
    tags: list[str] = Field(default_factory=list, max_length=fields.MAX_TAGS)
    notes: str | None = Field(None, max_length=fields.MAX_NOTES_LENGTH)
    redirect_status: Literal[301, 302, 307, 308] | None = None
    forward_query: bool = Field(
        default=False,
        strict=True,
        description="Forward the visitor's query parameters to the destination.",
    )
    max_clicks: Annotated[int, Field(strict=True, ge=1, le=fields.MAX_CLICKS)] | None = Field(
        None, description="Click limit: the number of redirects before the link stops working."
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
    is_paused: bool = Field(description="Also true for a paused link that has expired since.")
    strategy: Strategy
    owner_id: int | None
    version: int
    created_at: AwareDatetime
    updated_at: AwareDatetime
    starts_at: AwareDatetime | None
    expires_at: AwareDatetime | None
    deleted_at: AwareDatetime | None = Field(description="When it was moved to the trash.")
    swept_at: AwareDatetime | None = Field(
        description="When the reaper moved it to the trash because it had expired."
    )
    purged_at: AwareDatetime | None = Field(
        description="When the reaper will permanently delete it from the trash; null: never."
    )
    redirect_status: int
    title: str | None
    tags: list[str]
    notes: str | None
    forward_query: bool
    max_clicks: int | None
    clicks_used: int = Field(description="Redirects already counted against `max_clicks`.")
    redirect_count: int
    avg_redirect_ms: float | None
    destination_status: DestinationStatus | None = Field(
        description="Result of the destination checks; null: not checked yet."
    )
    destination_http_status: int | None = Field(description="HTTP status of the last check.")
    last_checked_at: AwareDatetime | None
    held_at: AwareDatetime | None = Field(
        description="When visitors began to see a warning first, because the destination could not"
        " be screened."
    )


class NewLinkRead(LinkRead):
    """A new link. If it was created without an account, it has a `claim_token`. Store the token: it
    is shown once and lets you claim the link later."""

    claim_token: str | None = None


class CodeAvailability(BaseModel):
    """Whether a link can be created with this `custom_code`. `problem` is the code of the error it
    would return; null if the code is available."""

    code: str
    is_free: bool
    problem: Problem | None
    link_id: int | None = Field(
        description="Your own link that already has the code, including links in the trash."
    )
    short_url: str | None = Field(description="The short URL it would have.")


class LinkEdit(Strict):
    """Fields to change. Omitted fields stay the same; null clears a field."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"title": "The handbook"}]})

    original_url: str | None = None
    custom_code: str | None = Field(None, description="A new code; the old one stops working.")
    starts_at: AwareDatetime | None = None
    expires_at: AwareDatetime | None = None
    expires_in: Annotated[int, Field(strict=True)] | None = Field(
        None,
        description="Seconds from now until the link expires. Cannot be combined with"
        " `expires_at`.",
    )
    title: str | None = Field(None, max_length=fields.MAX_TITLE_LENGTH)
    tags: list[str] | None = Field(None, max_length=fields.MAX_TAGS)
    notes: str | None = Field(None, max_length=fields.MAX_NOTES_LENGTH)
    redirect_status: Literal[301, 302, 307, 308] | None = None
    forward_query: bool | None = Field(None, strict=True)
    max_clicks: Annotated[int, Field(strict=True, ge=1, le=fields.MAX_CLICKS)] | None = None
    is_paused: bool | None = Field(None, strict=True, description="A paused link answers 404.")


class LinkRestore(Strict):
    expires_at: AwareDatetime | None = Field(
        None, description="New expiry of an expired link; if omitted, it never expires."
    )


class LinkList(BaseModel):
    """A page of links. `total` counts up to 10,000 links. For common search texts and tags, it
    counts only the matches among 5,000 links. If `is_total_exact` is false, `total` is a minimum.
    Request the next page with `next_cursor`. If `is_complete` is false, only part of the links was
    searched for this page: it has fewer links than `limit`, or none, and the next page continues
    there."""

    links: list[LinkRead]
    total: int
    is_total_exact: bool
    is_complete: bool
    next_cursor: str | None


class HistoryEntryRead(BaseModel):
    """A change to a link. `changes` maps each field to its old and new value."""

    action: str
    account_id: int | None
    version: int
    changed_at: AwareDatetime
    changes: dict[str, tuple[Any, Any]]


class LinkHistory(Paged):
    history: list[HistoryEntryRead]


class TrashEmptied(BaseModel):
    """`is_empty` is false if there were too many links for one request. Send it again."""

    purged: int = Field(description="Number of links permanently deleted.")
    is_empty: bool


class TagRead(BaseModel):
    tag: str
    links: int
    is_exact: bool = Field(description="False if more than `links` links have the tag.")


class TagList(Paged):
    tags: list[TagRead]


class TagRename(Strict):
    tag: str = Field(
        max_length=fields.MAX_TAG_LENGTH,
        description="The new name. If a tag with this name exists, the two are merged.",
    )


class TagChange(BaseModel):
    links: int = Field(description="Number of links changed.")


class BulkItem(Strict):
    """One operation. `create` takes `link`; `edit` takes `id` and `changes`; `delete`, `restore`
    and `purge` (permanent, from the trash) take `id`. With `version`, it fails if someone else has
    changed the link since."""

    action: Literal["create", "edit", "delete", "restore", "purge"]
    id: Annotated[int, Field(strict=True, ge=0, lt=2**53)] | None = None
    version: Annotated[int, Field(strict=True, ge=1)] | None = None
    link: LinkCreate | None = None
    changes: LinkEdit | None = None


class Bulk(Strict):
    items: list[dict[str, Any]] = Field(
        min_length=1, max_length=1000, description="`BulkItem` objects."
    )


class BulkResult(BaseModel):
    """`status` is the status that the same request would return on its own."""

    status: int
    link: NewLinkRead | None = None
    problem: Problem | None = None


class BulkResults(BaseModel):
    """In the order of the request."""

    results: list[BulkResult]


class ClaimItem(Strict):
    """A link created without an account, as stored by the browser."""

    original_url: str | None = None
    short_code: str | None = None
    claim_token: str | None = None


class Claims(Strict):
    items: list[ClaimItem] = Field(min_length=1, max_length=100)


class ClaimResult(BaseModel):
    """`claimed`: the link is yours now. `created`: it could not be claimed, so a new link of yours
    leads to its URL. `not_claimed`: neither; see `problem`."""

    result: Literal["claimed", "created", "not_claimed"]
    link: LinkRead | None = None
    problem: Problem | None = None


class ClaimResults(BaseModel):
    results: list[ClaimResult]


class QrQuery(Strict):
    format: Literal["svg", "png"] = "svg"
    size: int = Field(512, ge=64, le=2048, description="Width and height in pixels.")
    margin: int = Field(4, ge=0, le=16, description="Margin around the code, in modules.")
    error: Literal["L", "M", "Q", "H"] = Field(
        "M", description="Error correction level: how much damage the code tolerates."
    )
    dark: str = Field("#000000", pattern=r"^#[0-9a-fA-F]{6}$")
    light: str = Field("#ffffff", pattern=r"^(#[0-9a-fA-F]{6}|transparent)$")
