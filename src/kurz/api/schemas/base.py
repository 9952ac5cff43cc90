"""What schemas share."""

from pydantic import BaseModel, ConfigDict, Field


class Strict(BaseModel):
    """A body. Unknown fields are refused."""

    model_config = ConfigDict(extra="forbid")


class Paged(BaseModel):
    next_cursor: str | None = Field(
        None, description="Send it as `cursor` to get the next page; null on the last page."
    )
