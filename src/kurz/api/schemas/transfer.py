"""What an import answers."""

from typing import Literal

from pydantic import BaseModel, Field


class RowProblem(BaseModel):
    """A row that was not imported, and the reason."""

    line: int = Field(description="Line of the file in which the row starts.")
    outcome: Literal["conflict", "refused"]
    short_code: str | None = None
    original_url: str | None = None
    problem: str = Field(description="A stable code for the reason.")
    reason: str
    field: str | None = Field(None, description="The field that was refused.")
    flaw: str | None = Field(None, description="What is wrong with a refused URL.")


class ImportSummary(BaseModel):
    rows: int
    created: int
    existed: int
    conflict: int
    refused: int


class ImportResult(BaseModel):
    """`problems` lists the first 1000 rows that were not imported; `problems_left_out` counts the
    rest."""

    dry_run: bool
    summary: ImportSummary
    problems: list[RowProblem]
    problems_left_out: int
