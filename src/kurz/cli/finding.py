"""One finding of `kurz doctor`."""

from dataclasses import dataclass
from functools import partial

from kurz.api.http.health import Verdict
from kurz.api.schemas.system import HealthStatus


@dataclass(frozen=True)
class DoctorFinding:
    verdict: HealthStatus
    about: str
    says: str


ok = partial(DoctorFinding, HealthStatus.OK)
warning = partial(DoctorFinding, HealthStatus.WARNING)
error = partial(DoctorFinding, HealthStatus.ERROR)


def judged(about: str, verdict: Verdict, **sentences: str) -> DoctorFinding:
    """What the health of a running server shows too. The sentences are by reason."""
    status, reason = verdict
    return DoctorFinding(status, about, sentences[reason.replace("-", "_")])
