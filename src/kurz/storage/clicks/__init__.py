"""Queries about clicks.

`store`: counts a batch, and moves the position of its segment in the same transactions.
`slices`: divides a batch into slices, one for each transaction.
`positions`: how far segments are counted.
`totals`: all clicks of a subject.
`days`: the counts of a subject's day.
`months`: the sums of a subject's month.
`folding`: old days, folded into months.
`events`: individual clicks.
`event_reader`: individual clicks for an export, in the order of their keys.
`stats`: what reports read.
`salts`: the daily salts of visitors.
"""
