"""What a person types. Commands import what they need when they run, so that all start fast.

`app`: the `kurz` command, its subcommands, and how errors end it.
`serve`: `kurz serve`, `kurz jobs` and `kurz migrate`.
`processes`: what the supervisor, a worker and the jobs process run.
`doctor`: `kurz doctor`; `findings`: what it finds; `finding`: one of them.
`deep_findings`: what `kurz doctor --deep` finds.
`folder_findings`: what it finds in the data folder; `network_findings`: about connections;
`database_findings`: about the database.
`clock_warning`: a clock that is behind what was written.
`links`: commands about links.
`qr`: `kurz qr`.
`stats`: `kurz stats`; `stats_output`: how it prints numbers.
`transfer`: `kurz export` and `kurz import`; `transfer_output`: their progress and summary.
`trash`: `kurz trash`.
`archive`: `kurz archive`.
`backup`: `kurz backup`.
`checks`: `kurz check`.
`admin`: `kurz admin` for accounts, keys and workspaces.
`bans`: `kurz admin ban`, `unban`, `bans` and `audit`.
`reports`: `kurz admin reports`.
`lists`: `kurz admin lists`.
`quotas`: `kurz admin quota`.
`imports`: `kurz admin allow-imports` and `limit-imports`.
`counter`: `kurz admin counter`.
`compact`: `kurz admin compact`.
`reaper`: `kurz admin reaper`; `reaper_output`: how it prints runs.
`session`: opens the settings and the store for a command.
`output`: prints results, as text or JSON; `progress`: shows how far long work is.
`completion`: `kurz completion`.
`values`: durations, instants and links in arguments.
`workspace_lookup`: which workspace a command means, and the address of this kurz.
`server_address`: the address of the server of a data folder.
"""
