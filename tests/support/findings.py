"""What a destination checker finds."""

from kurz.links.model import DestinationStatus
from kurz.safety.checks import Finding, Reason

OK, BROKEN = DestinationStatus.OK, DestinationStatus.BROKEN
UNKNOWN, NOT_CHECKED = DestinationStatus.UNKNOWN, DestinationStatus.NOT_CHECKED
NOT_PUBLIC = Finding(NOT_CHECKED, Reason.NOT_PUBLIC)
NO_ANSWER = Finding(BROKEN, Reason.NO_ANSWER)


def answered(result: DestinationStatus, status: int) -> Finding:
    return Finding(result, Reason.ANSWERED, status)
