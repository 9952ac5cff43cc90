"""Why a server cannot be reached, in words: what an error of a connection means."""

import errno
import os
import socket
import ssl
from collections.abc import Iterator

REFUSED = "the connection was refused"
NO_ANSWER = "it did not answer in time"
_MOST = 8  # errors that led to each other; more would be a circle


def cause_of(error: BaseException) -> str | None:
    """None: nothing of the network. The first error that says something counts: libraries put
    their own around it."""
    return next(filter(None, map(_cause, _chain(error))), None)


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    for _ in range(_MOST):
        if error is None:
            return
        yield error
        error = error.__cause__ or error.__context__


def _cause(error: BaseException) -> str | None:
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not trusted ({error.verify_message})"
    if isinstance(error, ssl.SSLError):
        return f"TLS failed ({error.reason or error.strerror})"
    if isinstance(error, socket.gaierror):
        return "its host name was not found"
    if isinstance(error, TimeoutError):
        return NO_ANSWER
    if not isinstance(error, OSError):
        return None
    # asyncio makes one error of those of several addresses, which has their numbers in its text.
    if error.errno == errno.ECONNREFUSED or f"[Errno {errno.ECONNREFUSED}]" in str(error):
        return REFUSED
    return None if error.errno is None else os.strerror(error.errno)
