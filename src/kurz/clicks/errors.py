"""What can go wrong with stats."""

from kurz.errors import Kind, KurzError, Unavailable


class PeriodRefused(KurzError):
    kind = Kind.INVALID
    code = "period-refused"
    title = "Invalid period"


class ListenersFull(Unavailable):
    code = "listeners-full"
    title = "Too many live streams on this server"


class TooManyStreams(KurzError):
    kind = Kind.LIMITED
    code = "too-many-streams"
    title = "Too many live streams for this account"
    retry_after_seconds = 5
