"""Why Redis cannot be used: for the operator, who sees its address."""

from pathlib import Path
from urllib.parse import urlsplit

from redis.exceptions import (
    AuthenticationError,
    ClusterDownError,
    MovedError,
    NoPermissionError,
    ResponseError,
)

from kurz.cache.topology import MasterUnusable
from kurz.network_errors import cause_of, chain_of
from kurz.redis_url import FILE_OPTIONS, PORT, parse

SETTING = "KURZ_REDIS_URL"


def why_unusable(url: str, error: BaseException) -> str:
    """`error` is what a command raised."""
    cause, advice = _file_problem(url) or _explain(url, error)
    master = next((f"{it}: " for it in chain_of(error) if isinstance(it, MasterUnusable)), "")
    return f"Redis cannot be used at {where(url)}: {master}{cause}. {advice}"


def where(url: str) -> str:
    """Hosts and ports, or the path of a socket; without the account."""
    parts, hosts = urlsplit(url), parse(url).hosts
    if parts.scheme == "unix":
        return parts.path
    hosts = hosts or ((parts.hostname or "localhost", parts.port or PORT),)
    return ", ".join(f"{host}:{port}" for host, port in hosts)


def _explain(url: str, error: BaseException) -> tuple[str, str]:
    """The cause, and what to do."""
    answers = (it for it in chain_of(error) if isinstance(it, AuthenticationError | ResponseError))
    found, check = next(answers, None), f"Check {SETTING}."
    if isinstance(found, AuthenticationError) or "NOAUTH" in str(found):
        return "it rejected the user or the password", check
    if isinstance(found, NoPermissionError):
        return "the user may not run the commands that kurz needs", check
    if any(str(it).startswith("DENIED") for it in chain_of(error)):  # it goes on for ten lines
        cause = "it has no password, so it accepts only clients on its own machine (protected mode)"
        return cause, "Give it a password, and add it to the address."
    if isinstance(found, MovedError):
        return "it belongs to a Cluster", f"Use redis+cluster:// in {SETTING}."
    if isinstance(found, ClusterDownError):
        return "the Cluster does not serve all keys", "Check the output of CLUSTER INFO."
    cause = cause_of(error) or str(found or list(chain_of(error))[-1])
    if "certificate is not trusted" in cause:
        return cause, f"Set ssl_ca_certs in {SETTING} to the file of the CA that signed it."
    if urlsplit(url).scheme.startswith("redis") and not _is_encrypted(url) and _is_hung_up(error):
        return cause, f"If it expects TLS, use rediss instead of redis in {SETTING}."
    return cause, check


def _file_problem(url: str) -> tuple[str, str] | None:
    """With a file of certificates that cannot be read, no server is even asked."""
    for name, path in parse(url).options:
        if name in FILE_OPTIONS:
            try:
                Path(path).open("rb").close()
            except OSError as error:
                return f"{name} {path} cannot be read ({error.strerror})", f"Correct {SETTING}."
    return None


def _is_encrypted(url: str) -> bool:
    return urlsplit(url).scheme.startswith("rediss")


def _is_hung_up(error: BaseException) -> bool:
    """As a server with TLS does to a client without it."""
    return any(
        isinstance(it, ConnectionResetError | BrokenPipeError | EOFError)
        or "closed by server" in str(it)
        for it in chain_of(error)
    )
