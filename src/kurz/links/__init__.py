"""Links: what they are, how their codes and URLs are made, and what may be done with them.

`model`: a link, a draft, an edit, a filter.
`lifecycle`: the state of a link at an instant.
`fields`: what the fields of a link may hold.
`urls`: judges URLs and makes them canonical.
`codes`: the kinds of short codes.
`code_generator`: which codes to try for a new link.
`drafting`: what a draft, an edit or a revival makes of a link.
`inserting`: stores a new link under the first free code.
`service`: create, read, list, edit, delete, restore.
`availability`: whether a code is free.
`listing`: lists of links, in pages.
`tagging`: lists, renames and merges tags.
`checksums`: the checksum of where a code leads.
`ending`: retention, the trash, the archive and the reaper's rules.
`ports`: what the service needs from a store.
`bulk`: what import and export need from a store.
`transfers`: export and import as their callers see them.
`imports`: the limits of imports over HTTP.
`cells`: text in the cells of CSV files.
`qr`: QR codes.
`totals`: numbers of the whole installation.
`view`: a link as the API and `--json` show it.
"""
