"""Why Redis cannot be used: for the operator, who sees its address."""

from urllib.parse import urlsplit

from redis.exceptions import AuthenticationError, NoPermissionError, ResponseError

from kurz.network_errors import cause_of, chain_of
from kurz.redis_url import PORT, parse


def why_unusable(url: str, error: BaseException) -> str:
    """`error` is what a command raised."""
    return f"Redis cannot be used at {where(url)}: {_cause(error)}. Check KURZ_REDIS_URL."


def where(url: str) -> str:
    """Hosts and ports, or the path of a socket; without the account."""
    parts, hosts = urlsplit(url), parse(url).hosts
    if parts.scheme == "unix":
        return parts.path
    hosts = hosts or ((parts.hostname or "localhost", parts.port or PORT),)
    return ", ".join(f"{host}:{port}" for host, port in hosts)


def _cause(error: BaseException) -> str:
    answers = (it for it in chain_of(error) if isinstance(it, AuthenticationError | ResponseError))
    found = next(answers, None)
    if isinstance(found, AuthenticationError) or "NOAUTH" in str(found):
        return "it rejected the user or the password"
    if isinstance(found, NoPermissionError):
        return "the user may not run the commands that kurz needs"
    return cause_of(error) or str(found or error)
