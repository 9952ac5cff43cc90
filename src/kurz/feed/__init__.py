"""How a process learns what other processes have changed.

`log`: reads the change log once a second, and at every wake-up.
`local`: wake-ups between processes on one data folder, through named pipes.
`remote`: wake-ups between machines, through a server.
`postgres`: that server is PostgreSQL (LISTEN and NOTIFY).
`redis`: that server is Redis or Valkey (publish and subscribe).
`heartbeat`: notices when this process was paused.
"""
