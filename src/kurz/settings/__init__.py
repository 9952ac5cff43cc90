"""The settings. Nothing else reads the environment.

`model`: every setting: its type, default and meaning.
`limits`: the settings of rates and caps.
`web`: the settings of pages and browsers.
`backup`: the settings of backups.
`workload`: the settings of how much work there is at once.
`values`: parses and checks values.
`load`: reads flags, variables, files and `kurz.toml`.
`addresses`: the addresses that kurz is reached under.
`secret`: the installation's secret, configured or created once.
"""
