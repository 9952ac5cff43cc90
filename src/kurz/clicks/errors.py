"""What can go wrong with stats."""

from kurz.errors import Invalid, Limited, Unavailable


class PeriodRefused(Invalid):
    title = "Invalid period"


class ListenersFull(Unavailable):
    title = "Too many live streams on this server"


class TooManyStreams(Limited):
    title = "Too many live streams for this account"
    retry_after_seconds = 5
