"""The HTTP API. A route parses the request, calls a service and shapes the answer.

`app`: puts the API together.
`routes`: the operations, one module per noun.
`schemas`: the shapes of requests and answers.
`http`: what the routes share: callers, bodies, problems, idempotency.
`dialects`: other shorteners' paths over the same services.
"""
