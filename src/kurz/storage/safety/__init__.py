"""Queries about safety.

`bans`: bans of links.
`ban_list`: bans of hosts and accounts.
`screening`: how far existing links are screened.
`abuse_reports`: reports of abuse.
`audit`: the audit log.
`destinations`: where links lead, once per URL.
`checks`: what checks of destinations found.
`waiting_checks`: destinations whose check is due or asked for.
"""
