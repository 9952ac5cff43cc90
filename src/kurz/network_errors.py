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
    return next(filter(None, map(_cause, chain_of(error))), None)


def chain_of(error: BaseException | None) -> Iterator[BaseException]:
    """The error, and those that led to it."""
    for _ in range(_MOST):
        if error is None:
            return
        yield error
        error = error.__cause__ or error.__context__


def _cause(error: BaseException) -> str | None:
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not trusted ({_detail(error, 'verify_message')})"
    if isinstance(error, ssl.SSLError):
        return f"TLS failed ({_detail(error, 'reason')})"
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


def _detail(error: ssl.SSLError, name: str) -> str:
    """Errors that Python code raises, and not OpenSSL, have no details."""
    return str(getattr(error, name, None) or error.strerror or error)
