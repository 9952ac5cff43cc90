"""The end of links, workspaces and accounts.

`conditions`: which links have ended, and how.
`reaping`: ends links that are due, in batches.
`purging`: deletes links with everything that is only about them.
`archive`: what archiving reads and writes.
`accounts`: ends the links of deleted accounts.
`workspaces`: purges deleted workspaces.
`housekeeping`: deletes rows that are no longer needed.
"""
