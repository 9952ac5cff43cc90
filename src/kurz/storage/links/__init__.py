"""Queries about links.

`store`: reads and writes links.
`inserting`: new links, many with a few statements.
`bulk`: many links at a time, for import and export.
`listing`: chooses how a list of links is read; `walking`: reads a page of it.
`filters`: the filters of lists, as SQL.
`search`: text search.
`tags`: tags of links.
`ended_accounts`: the links of deleted accounts.
`history`: what was changed, and by whom.
`active`: the number of active links.
`totals`: numbers of the whole installation.
`checksums`: writes the checksums of where codes lead; `verifying`: compares them.
`receipts`: stored answers to requests with an `Idempotency-Key`.
`quota_usage`: spends quotas in the transaction of the insert.
`quota_turns`: requests that wait to spend the same quota.
`quarantine`: codes of purged links, reserved for their owners for a while.
`installation`: the keys of codes and ids, and the counter.
"""
