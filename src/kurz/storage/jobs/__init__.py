"""Queries about scheduled jobs.

`leases`: which process may run a job, and until when.
`runs`: what the last runs did.
`instances`: the servers that use the database.
`last_written`: when something was last written.
"""
