"""Queries about people.

`accounts`: accounts and ended tokens.
`epochs`: whether a proof of identity is still valid, asked inside a write.
`keys`: API keys.
`one_time_tokens`: one-time links.
`workspaces`: workspaces and their slugs.
`members`: members of workspaces.
`domains`: custom domains.
`limits`: rate limits that processes share without Redis.
`caps`: counts inside the transaction of a write.
`held_slots`: slots for running imports and live streams.
"""
