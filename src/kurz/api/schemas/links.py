"""Links as the API takes and gives them."""

from typing import Annotated, Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

from kurz.links import fields
from kurz.links.model import LinkType, Status, Strategy


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
    strategy: Strategy
    created_at: AwareDatetime
    updated_at: AwareDatetime
    starts_at: AwareDatetime | None
    expires_at: AwareDatetime | None
    redirect_status: int
    title: str | None
    tags: list[str]
    notes: str | None
    forward_query: bool
    max_clicks: int | None
    redirect_count: int
    avg_redirect_ms: float | None
    destination_status: int | None
    last_checked_at: AwareDatetime | None


class AnonymousLinkRead(LinkRead):
    """A link made without an account. Keep `claim_token`: it is shown once, and proves later that
    the link is yours."""

    claim_token: str
