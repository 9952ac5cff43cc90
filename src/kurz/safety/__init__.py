"""Protection against abuse, and checks of destinations.

`screening`: judges where links may lead, by lists and by bans of hosts.
`rescreening`: what screening existing links needs from a store.
`blocklists`: reads the formats in which lists are published.
`list_table`: compiled lists that processes share by mapping a file.
`lists_file`: compiles the lists into that file.
`list_provider`: gives a process the compiled lists.
`hosts`: the banned hosts, in memory.
`bans`: bans of links, hosts and people; `banning`: bans and unbans.
`abuse_reports`: reports of abuse, and their store.
`abuse_reporting`: anyone reports a link, administrators decide.
`audit`: the audit log.
`checks`: what a check of a destination finds.
`check_schedule`: what several checks mean, and when the next is due.
`link_checks`: checks as the owners of links see them.
"""
