"""Portable backups: rows that both engines can read and store.

`tables`: which tables they contain, and what becomes of derived ones.
`reading`: reads the rows of a database.
`loading`: stores the rows in an empty database.
`outcomes`: whether a restore was completed, if the connection was lost at its end.
`indexes`: drops indexes while rows are stored, and builds them afterwards.
"""
