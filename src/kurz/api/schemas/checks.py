"""Checks of destinations in the API."""

from pydantic import AwareDatetime, BaseModel, Field

from kurz.links.model import DestinationStatus
from kurz.safety.checks import Reason


class _State(BaseModel):
    destination_status: DestinationStatus | None = Field(
        description="The overall result of the checks. A single failure does not make a link"
        " `broken`."
    )
    destination_http_status: int | None
    last_checked_at: AwareDatetime | None


class CheckRead(BaseModel):
    """The result of a single check."""

    checked_at: AwareDatetime
    result: DestinationStatus
    reason: Reason
    http_status: int | None = Field(
        description="HTTP status of the last response, if there was one."
    )


class LinkChecksRead(_State):
    checks: list[CheckRead]


class CheckRequested(_State):
    """The destination status before this check."""

    requested_at: AwareDatetime
