"""What runs queries.

`database`: the contract of an engine.
`store`: stores whose methods only run a query are declared with it.
`sqlite`: SQLite; `group_writer`: the thread that writes to SQLite, many calls per commit;
`turnstile`: the queue of processes that write to SQLite.
`postgres`: PostgreSQL, through a pool of connections; `shared_writes`: many calls per transaction.
`hosts`: connections to PostgreSQL under an address with several hosts.
`errors`: what errors of PostgreSQL mean; `diagnosis`: why it cannot be used.
`privileges`: whether the role of PostgreSQL may create and write.
`result_turns`: one result in each turn of the event loop.
`deadlines`: how long a call may take.
`instants`: the time of a statement, by the shared clock.
`changes`: the change log.
`batches`: many rows in short transactions.
`rounds`: background work of the store.
`pages`: parts of lists.
`rows`: rows as objects.
`migrate`: upgrades the schema; `schema_state`: which schema a database has.
`integrity`: what an engine finds wrong in its files.
`space`: the space that a database takes.
"""
