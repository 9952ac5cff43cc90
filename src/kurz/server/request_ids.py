"""Ids of requests, which connect log lines and answers."""

import itertools
from secrets import token_hex

_PROCESS = token_hex(6)
_numbers = itertools.count(1)


def next_request_id() -> str:
    return f"{_PROCESS}-{next(_numbers):x}"
