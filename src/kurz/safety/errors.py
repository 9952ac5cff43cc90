"""What can go wrong with bans and reports."""

from kurz.errors import Kind, KurzError


class HostRefused(KurzError):
    kind = Kind.INVALID
    code = "host-refused"
    title = "Invalid host"
    field = "host"


class ReportNotFound(KurzError):
    kind = Kind.NOT_FOUND
    code = "report-not-found"
    title = "Report not found"


class ReportDecided(KurzError):
    kind = Kind.CONFLICT
    code = "report-decided"
    title = "Report already decided"
