"""kurz: a self-hosted URL shortener. docs/explanation/architecture.md explains the packages.

`services`: the services of the core, as the API and the command line get them.
`asgi`: ASGI's types, and what `server/app` adds to a scope.
`scheduling`: scheduled jobs: when they are due, leases and runs.
`rounds`: background work, round after round.
`clock`: the time.
`logs`: log lines.
`metrics`: the numbers for Prometheus.
`errors`: the error tree.
`files`: output files.
`headers`: headers that every answer carries.
`breaker`: when to stop calling a service that fails.
`rates`: how often something may happen, and the default limits.
`request_parser`: whether bytes are one whole request.
`paging`: which part of a list is wanted.
`redis_url`: addresses of Redis.
`many_hosts`: addresses that name several hosts.
`time_limits`: how long to wait for the answers of other servers.
`network_errors`: why a server cannot be reached.
`terminals`: what may be written to a terminal.
"""

__version__ = "0.3.0.dev0"
