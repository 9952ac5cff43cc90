"""The file of a backup: a gzipped tar archive, encrypted on request. No byte of it can change
unnoticed (`docs/reference/backup-format.md`).

`manifest`: what a backup contains.
`rows`: the rows of tables in it.
`packing`: writes the file.
`opening`: reads and checks it.
`sealing`: encrypts and decrypts it.
`trailer`: the digest at its end.
"""
