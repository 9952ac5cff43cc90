"""What can go wrong with bans and reports."""

from kurz.errors import Kind, KurzError


class HostRefused(KurzError):
    kind = Kind.INVALID
    code = "host-refused"
    title = "This is no host that can be banned"


class ReportNotFound(KurzError):
    kind = Kind.NOT_FOUND
    code = "report-not-found"
    title = "There is no such report"


class ReportDecided(KurzError):
    kind = Kind.CONFLICT
    code = "report-decided"
    title = "This report was decided already"
