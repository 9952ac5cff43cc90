"""Builds every part of kurz from the settings and connects them.

`engine`: which engine runs, and what follows from it.
`data_folder`: whether the data folder can be used.
`outages`: why the database cannot be used.
`core`: opens the engine and the services.
`shared`: what processes share beside the database: the feed and Redis.
`screen`: the blocklists that the settings name.
`buckets`: how buckets are opened.
`archive`: the archive that the settings name.
`backup_storage`: where backups are stored.
`limits`: rates and caps, and where they are counted.
`read_path`: the read path of a worker.
`loader`: what counts clicks.
`reaper`: the reaper.
`checks`: checks of destinations.
`rescreen`: screening of existing links.
`backup`: makes and checks backups of the embedded database; `restore`: restores one.
`backup_checking`: checks whole backups; `link_checking`: compares links with their checksums.
`integrity`: reads everything that is stored, to find damage.
`portable`: makes and checks portable backups.
`scheduled_backups`: makes backups by a schedule.
`compacting`: gives unused space of the database back.
`health`: the health of an instance.
`worker_numbers`: what a worker has counted.
`worker`: a worker of `kurz serve`.
`jobs`: the jobs process.
"""
