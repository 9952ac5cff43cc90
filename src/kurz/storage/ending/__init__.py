"""The end of links and workspaces.

`conditions`: which links have ended, and how.
`reaping`: ends links that are due, in batches.
`purging`: deletes links with everything that is only about them.
`archive`: what archiving reads and writes.
`workspaces`: purges deleted workspaces.
`housekeeping`: deletes rows that are no longer needed.
"""
