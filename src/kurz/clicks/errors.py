"""What can go wrong with stats."""

from kurz.errors import Invalid, Limited, Unavailable


class PeriodRefused(Invalid):
    code = "period-refused"
    title = "Invalid period"


class ListenersFull(Unavailable):
    code = "listeners-full"
    title = "Too many live streams on this server"


class TooManyStreams(Limited):
    code = "too-many-streams"
    title = "Too many live streams for this account"
    retry_after_seconds = 5
