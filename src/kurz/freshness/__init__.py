"""Cache coherence: which copies of a link may be used, and for how long.

A link is kept in up to four places: the database, its replicas, Redis, and the memory of each
worker. Only the database is always right. Every write adds a numbered row to the change log, in
its own transaction (`ports.ChangeLog`). Each process reads that log at least once a second and
remembers the last 20,000 changes (`recent_writes`). A value from Redis or a replica carries the
position of the log at which it was read; it is used only if it contains every change that this
process has read (`RecentWrites.is_current`). Memory drops what the log names. A process that has
not read the log for 3 seconds has a stale feed: it asks the database again before it answers from
memory. So an answer is at most 5 seconds old, as long as the process reaches the database or Redis
(docs/adr/0014-tiers-and-instances.md).

`ports`: what the read path needs from the store, the second tier and the feed.
`routes`: what the tiers exchange: the route of a link, and what was written.
`recent_writes`: the last changes, which decide whether a value is current.
`null_cache`: the second tier where there is none.
"""
