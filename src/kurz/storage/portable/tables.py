"""Which tables a portable backup contains. A restored database has the rows as they were, with
these exceptions:

- `accounts.epoch`, `counters` and the cache's epoch change, so that nothing is issued twice
  (`storage/backup/renewal`).
- `links.redirect_count` may be behind, as always. The copier checks all links after a start.
- `link_tags`, `click_days`, `click_months`, `destinations`, `link_destinations` and `checks` are
  derived, but carried: rebuilding them takes longer, and part of them cannot be rebuilt.
- `late_clicks`, `month_position`, `fold_position` and `screening_position` say how far work on
  carried tables is, in terms of subjects, days and links. They are carried.
- `destination_position` is carried without its place in the change log. If some changes were not
  followed yet, all links are followed again.
- `counted_links`, `active_links` and `count_position` are left out: the background work counts all
  links after the start.
- The text index of SQLite (`link_search`) is built when the rows are there, because it only follows
  the change log. PostgreSQL maintains an index of its own.
"""

import sqlalchemy as sa

from kurz.storage.schema.clicks import (
    click_days,
    click_events,
    click_months,
    click_totals,
    fold_position,
    journal_position,
    late_clicks,
    month_position,
    visitor_salts,
)
from kurz.storage.schema.jobs import (
    archive_files,
    code_quarantine,
    instances,
    job_runs,
    job_totals,
    leases,
    running_imports,
    running_streams,
)
from kurz.storage.schema.links import (
    active_links,
    changes,
    count_position,
    counted_links,
    counters,
    history,
    installation,
    link_tags,
    links,
    receipts,
    search_position,
    usage,
)
from kurz.storage.schema.people import (
    accounts,
    domains,
    ended_tokens,
    ending_accounts,
    keys,
    limits,
    members,
    one_time_tokens,
    workspace_slugs,
    workspaces,
)
from kurz.storage.schema.safety import (
    audit,
    bans,
    checks,
    destination_position,
    destinations,
    link_bans,
    link_destinations,
    reports,
    screening_position,
)

CARRIED = (
    *(installation, counters, accounts, ending_accounts, keys),
    *(workspaces, workspace_slugs, members, domains, usage),
    *(links, link_tags, history, link_bans, bans, code_quarantine, archive_files),
    *(click_totals, click_days, click_months, late_clicks, month_position, fold_position),
    *(journal_position, click_events),
    *(destinations, link_destinations, destination_position, checks),
    *(screening_position, reports, audit, job_runs, job_totals),
)
NOT_CARRIED = {
    visitor_salts: "must not outlive their day",
    limits: "mean nothing in another place",
    leases: "belong to running processes",
    running_imports: "belong to running processes",
    running_streams: "belong to running processes",
    instances: "are the servers of the old database",
    changes: "are followed by processes of the old database",
    receipts: "are responses of the old server, and expire after a day",
    one_time_tokens: "end, as the sessions do",
    ended_tokens: "are sessions that have ended, and all of them do",
    search_position: "is set when the text index is built",
    count_position: "is set so that all links are counted again",
    counted_links: "are counted again",
    active_links: "are counted again",
}
FOLLOWERS: tuple[sa.Table, ...] = (search_position, count_position, destination_position)
