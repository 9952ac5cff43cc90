"""What can go wrong with stats."""

from kurz.errors import Kind, KurzError, Unavailable


class PeriodRefused(KurzError):
    kind = Kind.INVALID
    code = "period-refused"
    title = "There can be no stats of this period"


class ListenersFull(Unavailable):
    code = "listeners-full"
    title = "Too many listen to live numbers"


class TooManyStreams(KurzError):
    kind = Kind.LIMITED
    code = "too-many-streams"
    title = "This account has too many live streams"
    retry_after_seconds = 5
