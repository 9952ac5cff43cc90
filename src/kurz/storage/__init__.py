"""Where everything is kept: one schema and one set of queries, run by SQLite or PostgreSQL.

`engine`: what runs queries.
`schema`: the tables.
`migrations`: the history of the schema.
`links`, `clicks`, `people`, `safety`, `jobs`: queries, by noun.
`routes`: what a redirect asks.
`ending`: the end of links and workspaces.
`backup`: copies of SQLite's database.
`portable`: rows that both engines can store.
`followers`: background work that follows the change log.
"""
