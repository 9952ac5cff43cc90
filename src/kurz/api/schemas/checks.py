"""Checks of destinations as the API tells of them."""

from pydantic import AwareDatetime, BaseModel, Field

from kurz.links.model import DestinationStatus
from kurz.safety.checks import Reason


class _State(BaseModel):
    destination_status: DestinationStatus | None = Field(
        description="What the checks say together: a single failure makes no link `broken`."
    )
    destination_http_status: int | None
    last_checked_at: AwareDatetime | None


class CheckRead(BaseModel):
    """What a single check found."""

    checked_at: AwareDatetime
    result: DestinationStatus
    reason: Reason
    http_status: int | None = Field(description="Of the last answer, if there was one.")


class LinkChecksRead(_State):
    checks: list[CheckRead]


class CheckAsked(_State):
    """The state before the check."""

    asked_at: AwareDatetime
