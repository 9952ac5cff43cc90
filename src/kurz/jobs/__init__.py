"""Background work.

`clicks`: counts the clicks in the journals.
`checks`: checks destinations and custom domains.
`runner`: runs a scheduled job in one process of the installation at a time.
`periodic`: a small task that the runner runs from time to time.
`reaper`: marks expired links and ends those whose time is over.
`reaper_run`: runs the reaper now, for a command that waits for it.
`boot_clock`: detects that the shared clock has jumped.
`housekeeping`: deletes rows that are no longer needed.
`workspace_purger`: purges deleted workspaces.
`account_ender`: ends the links of deleted accounts.
`backups`: makes scheduled backups.
`bans`: carries out and undoes bans of people.
`list_watch`: compiles the blocklists again when their files change.
`rescreen`: screens existing links by lists and bans.
"""
