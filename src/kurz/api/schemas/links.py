"""Links as the API takes and gives them."""

import unicodedata
from typing import Annotated, Literal

from pydantic import AfterValidator, AwareDatetime, BaseModel, ConfigDict, Field

from kurz.links.model import LinkType, Status, Strategy


def _plain(text: str) -> str:
    """Text that both engines store and every page shows: no control characters but line breaks."""
    if any(unicodedata.category(letter) == "Cc" and letter not in "\n\t" for letter in text):
        raise ValueError("must not contain control characters")
    return text


Title = Annotated[str, Field(min_length=1, max_length=200), AfterValidator(_plain)]
Notes = Annotated[str, Field(min_length=1, max_length=2000), AfterValidator(_plain)]
Tag = Annotated[str, Field(min_length=1, max_length=50), AfterValidator(_plain)]


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
    title: Title | None = None
    tags: list[Tag] = Field(default_factory=list, max_length=20)
    notes: Notes | None = None
    redirect_status: Literal[301, 302, 307, 308] | None = None
    forward_query: bool = Field(
        default=False, strict=True, description="Append the visitor's query to the destination."
    )
    max_clicks: Annotated[int, Field(strict=True, ge=1, le=2**53)] | None = Field(
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
