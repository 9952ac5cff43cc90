"""What a redirect asks the store.

`sqlite`: on SQLite.
`postgres`: on PostgreSQL: a replica first, then the primary.
`lookups`: lookups on PostgreSQL, on their own connections.
`replicas`: replicas, and when they may be used.
"""
