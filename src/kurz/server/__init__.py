"""The processes and their connections.

The supervisor:
`supervisor`: starts, replaces and ends the other processes.
`slots`: how many children there are, and when to start one again.
`children`: forks a child and reads its reports.
`signals`: signals, as something to wait for.
`listening`: the socket on which all workers accept connections.
`systemd`: tells systemd the state of the service.
`scoreboard`: numbers in memory that all processes share.
`usage`: memory and CPU time of processes.

A worker:
`serve`: one event loop with uvicorn.
`accepting`: accepts connections, and answers their first request if it can.
`lifeline`: when a child must end.
`app`: the outermost ASGI application.
`hosts`: which site a Host header means.
`proxies`: which peers may say who their client is; `forwarding`: a proxy that does not;
`proxy_note`: what was noticed of it.
`request_ids`: ids of requests.
`overload`: how much slow work there is at once.
`read_only`: refuses what would change something.
`quick_refusals`: refuses a POST above a limit, from its bytes.

A connection:
`newcomers`: a connection until its second request.
`connection`: one client's connection, with limits.
`intake`: parses what the client sends, in bounded pieces.
`lifetime`: how long it waits for its client, and how it ends.
`body_rate`: how fast a body must arrive.
`flow`: when the client is read, and how a connection ends after an early answer.
`turns`: requests of clients that do not wait for answers.
`targets`: request targets that are whole URLs.
`refusals`: answers to what is not a valid request.
`capacity`: how many connections there are, and which to close first.
"""
