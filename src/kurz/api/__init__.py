"""The HTTP API: parse, call a service, shape the answer."""
