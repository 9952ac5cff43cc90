"""The only package that calls anything outside.

`checker`: requests destinations. The only HTTP client of kurz.
`connections`: connects only to addresses that were judged.
`addresses`: which addresses may be called.
`resolver`: the addresses of a name.
`sites`: limits how often a site is called.
`dns`: TXT records, and the name servers to ask.
`geo`: the countries of networks, from a file.
`folder`: an archive in a folder; `bucket`: an archive in an S3 bucket.
`backup_bucket`: backups in an S3 bucket.
`bucket_errors`: why a bucket cannot be used.
"""
