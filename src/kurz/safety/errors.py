"""What can go wrong with bans and reports."""

from kurz.errors import Conflict, Invalid, NotFound


class HostRefused(Invalid):
    title = "Invalid host"
    field = "host"


class ReportNotFound(NotFound):
    title = "Report not found"


class ReportDecided(Conflict):
    title = "Report already decided"
