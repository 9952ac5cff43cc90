"""The tables, once for both engines.

`base`: what the tables share.
`links`: links, and what is counted and stored about them.
`link_rows`: links as rows of their table.
`people`: accounts, workspaces, domains and rate limits.
`clicks`: clicks.
`jobs`: scheduled jobs.
`safety`: checks, bans, reports and the audit log.
"""
