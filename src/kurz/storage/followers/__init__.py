"""Background work of the store. Most of it follows the change log to keep derived data up to date.

`search_indexer`: SQLite's text index.
`checksum_filler`: the checksums of links that older versions have written.
`link_counter`: the number of active links.
`destinations`: the destinations to check.
`click_count_copier`: the click counts in the links.
`month_folder`: the sums of past months, as a scheduled job.
`day_folder`: folds old days of clicks into months, in the same job.
`event_trimmer`: deletes old individual clicks.
`change_log_trimmer`: deletes old rows of the change log.
`backlogs`: how far the others are behind the change log.
`instance_register`: the instances that run, and their versions.
`timekeeper`: the clock of the process, set by the database.
"""
