"""What every list in pages has."""

from pydantic import BaseModel, Field


class Paged(BaseModel):
    next_cursor: str | None = Field(
        None, description="The `cursor` of the next page; null on the last one."
    )
