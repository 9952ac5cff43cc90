"""The shapes of requests and answers.

`links`: links, tags, history and bulk requests.
`people`: accounts, keys, workspaces, members and domains.
`stats`: numbers of clicks.
`checks`: checks of destinations.
`safety`: reports, bans and the audit log.
`cleanup`: the reaper.
`system`: an instance and its components.
`transfer`: the result of an import.
`base`: what they share.
`problems`: problems, for the OpenAPI document.
"""
