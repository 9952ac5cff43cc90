"""Checks of destinations and of custom domains.

`destinations`: whether the destinations of links still answer.
`queue`: which destination is checked next.
`domains`: whether custom domains still have their TXT record.
"""
