"""What can go wrong with bans and reports."""

from kurz.errors import Conflict, Invalid, NotFound


class HostRefused(Invalid):
    code = "host-refused"
    title = "Invalid host"
    field = "host"


class ReportNotFound(NotFound):
    code = "report-not-found"
    title = "Report not found"


class ReportDecided(Conflict):
    code = "report-decided"
    title = "Report already decided"
