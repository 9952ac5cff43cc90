"""The answer to an import."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from kurz.api.schemas.base import Strict
from kurz.links.transfers import MAX_SELECTED


class ExportSelection(Strict):
    """The links to export."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"ids": [1, 2]}]})

    ids: list[Annotated[int, Field(strict=True, ge=0, lt=2**53)]] = Field(
        min_length=1, max_length=MAX_SELECTED
    )


class RowProblem(BaseModel):
    """A row that was not imported, and the reason."""

    line: int = Field(description="Line of the file in which the row starts.")
    last_line: int | None = Field(
        None, description="Line in which the row ends, if it has more than one."
    )
    outcome: Literal["conflict", "refused"]
    short_code: str | None = None
    original_url: str | None = None
    problem: str = Field(description="A stable code for the reason.")
    reason: str
    field: str | None = Field(None, description="The field that was refused.")
    url_problem: str | None = Field(None, description="What is wrong with a refused URL.")


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
