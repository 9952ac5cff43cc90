"""The operations of the API, one module per noun.

`creating`: create a link.
`links`: read, list, edit, delete and restore links.
`bulk`: many links in one request.
`claims`: take over a link that was created without an account.
`tags`: list, rename, merge and remove tags.
`trash`: delete links permanently.
`transfer`: export and import.
`stats`: numbers of links, tags, workspaces and the installation.
`checks`: whether a link's destination answers.
`auth`: register, sign in, sign out, passwords.
`me`: the caller's account, and `/api/v1/keys`.
`workspaces`: create, change and delete workspaces.
`members`: members of a workspace, and invitations.
`domains`: custom domains.
`quotas`: how much of a monthly quota is used.
`reports`: reports of abuse.
`bans`: bans, and the audit log.
`admin`: the instance, accounts and workspaces, for administrators.
`cleanup`: the reaper, for administrators.
`system`: probes: is the process alive, can it work.
`docs`: the API explorer, and what problem types mean.
"""
