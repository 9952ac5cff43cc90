"""Clicks: how they are recorded, counted and reported.

Recording:
`record`: the bytes of one click.
`trimming`: what may be kept of the things a visitor sends.
`visitors`: networks, and hashes under a salt of the day.
`journal`: a worker's files of clicks, written before a redirect is answered.
`segment_file`: one file of a journal, as its writer sees it; `header`: the header of a segment.
`dropped`: how many clicks could not be recorded.

Counting:
`segments`: the files of journals: torn ends and damage.
`verifying`: reads a whole segment, to find damage.
`chunks`: reads the clicks of a segment, many at once.
`aggregate`: the sums of a stretch of a journal.
`agents`: the kind and the name of a user agent.
`crawlers`: which user agents are bots; `previews`: which user agents fetch link previews.
`values`: the values counted of a referrer and a language.
`batch`: what a stretch of a journal adds to the numbers.
`counts`: the counts of a day, as one flat table.
`sketch`: the number of visitors, in little memory.
`moments`: mean and variance of latencies.
`ports`: what this package needs from outside.

Reporting:
`stats`: the numbers of a subject over a period.
`periods`: which time a report covers, and its intervals.
`series`: numbers over time.
`breakdowns`: the largest values of each kind.
`months`: sums of days, and stored sums of months.
`folding`: old days in one row for each month.
`live`: numbers as they change.
`click`: individual clicks as people see them.
`view`: a report as the API and `--json` show it.
`exports`: reports as CSV and JSON files.
"""
