"""What schemas share."""

from pydantic import BaseModel, ConfigDict, Field


class Body(BaseModel):
    """The body of a request. Pydantic would remember its short texts, up to 16,384 of them in a
    process: 2 MB that hardly ever save anything, with passwords among them. So it remembers only
    the names of fields."""

    model_config = ConfigDict(cache_strings="keys")


class Strict(Body):
    """Unknown fields are refused."""

    model_config = ConfigDict(extra="forbid")


class Paged(BaseModel):
    next_cursor: str | None = Field(
        None, description="Send it as `cursor` to get the next page; null on the last page."
    )
