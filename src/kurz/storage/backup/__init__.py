"""The database in backups, and copies of SQLite's.

`snapshot`: copies a database that is in use, and removes what a backup does not keep.
`contents`: what a copy contains.
`numbers`: the last numbers that it has issued.
`renewal`: prepares a restored copy, so that it issues nothing twice.
"""
