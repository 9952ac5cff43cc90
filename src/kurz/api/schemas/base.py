"""What every list in pages has."""

from pydantic import BaseModel, Field


class Paged(BaseModel):
    next_cursor: str | None = Field(
        None, description="Send it as `cursor` to get the next page; null on the last page."
    )
