"""Random ids, so that they do not reveal how many there are."""

import secrets

SIZE = 2**53  # what a JavaScript number holds exactly


def new_id() -> int:
    return secrets.randbelow(SIZE - 1) + 1
