"""What instances share through Redis or Valkey.

`routes`: the second tier: what was looked up about codes; `codec`: how the second tier stores that.
`limits`: rate limits that all instances share.
`subscription`: wake-ups through publish and subscribe.
`connect`: opens clients: of one server, through Sentinels, or of a Cluster.
`client`: the commands kurz uses.
`topology`: which server has a key.
`diagnosis`: why a server cannot be used.
`pool`: the connections to one server.
"""
