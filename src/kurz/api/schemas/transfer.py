"""What an import answers."""

from typing import Literal

from pydantic import BaseModel, Field


class RowProblem(BaseModel):
    """A row that was not imported, and why."""

    line: int = Field(description="Where the row begins in the file.")
    outcome: Literal["conflict", "refused"]
    short_code: str | None = None
    original_url: str | None = None
    problem: str = Field(description="The stable code of the reason.")
    reason: str
    flaw: str | None = Field(None, description="What is wrong with a URL that was refused.")


class ImportSummary(BaseModel):
    rows: int
    created: int
    existed: int
    conflict: int
    refused: int


class ImportResult(BaseModel):
    """`problems` has the first 1000 rows that were not imported; `problems_left_out` counts the
    others."""

    dry_run: bool
    summary: ImportSummary
    problems: list[RowProblem]
    problems_left_out: int
