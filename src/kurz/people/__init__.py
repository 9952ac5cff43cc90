"""People, and what they share: workspaces and their domains.

`accounts`: register, sign in, passwords, administrators.
`passwords`: password rules and hashes; `hash_queue`: which password is hashed next.
`devices`: browsers that have signed in before.
`tokens`: session tokens.
`keys`: API keys.
`one_time_tokens`: links that work once: first administrator, new password, invitation.
`identity`: from a credential to the person.
`access`: who calls, and what they may do.
`set_up`: whether the first administrator is still missing.
`workspaces`: workspaces and their slugs; `teams`: what members may do with their workspace.
`custom_domains`: adds and verifies domains; `domains`: the verified domains, cached.
`own_hosts`: the names that kurz answers on.
`limits`: rate limits.
`caps`: how many of something there may be.
`quotas`: how many links may be created in a month.
`receipts`: stored answers to requests with an `Idempotency-Key`.
`recent`: results of lookups, cached for a moment.
`keyring`: keys derived from the installation's secret.
`ids`: random ids.
`names`: names of workspaces and keys.
"""
