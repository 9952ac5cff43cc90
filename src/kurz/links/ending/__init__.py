"""The end of links.

`retention`: how long links stay after they have ended, and what happens then.
`ports`: what the reaper needs from a store.
`reaper_admin`: what administrators see of the reaper, and can ask of it.
`trash`: deletes links permanently.
`archives`: what the archive keeps of purged links, and what archiving needs.
"""
