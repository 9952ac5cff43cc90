"""Copies of SQLite's database for backups.

`snapshot`: copies a database that is in use, and removes what a backup does not keep.
`contents`: what a copy contains.
`renewal`: prepares a restored copy, so that it issues nothing twice.
"""
