"""Notices a proxy on this machine that does not name its clients. All of them would then share one
rate limit, or could choose their own address."""

from collections.abc import Callable

import structlog

ENOUGH = 20  # requests; fewer may be those of somebody who tries something on this machine
SHARE = 0.05  # of a proxy's requests without an address
LOOPBACK = frozenset({"127.0.0.1", "::1"})
LOCAL_NAMES = LOOPBACK | {"localhost"}
NOBODY = (
    "requests from a program on this machine have no X-Forwarded-For header, so all visitors share"
    " one rate limit. Configure your proxy to send this header."
)
SOME = (
    "a program on this machine sends X-Forwarded-For with only some requests. Configure your proxy"
    " to add the visitor's address to every request. Otherwise, visitors can choose their own."
)

log = structlog.get_logger()


class Forwarding:
    """Counts requests from this machine to the public address. `note` is told what is wrong, and
    None when it is not any more."""

    def __init__(self, note: Callable[[str | None], None]) -> None:
        self._note = note
        self._named = 0
        self._unnamed = 0
        self._problem: str | None = None

    def count(self, peer: str, host: str, *, is_named: bool) -> None:
        """`host` is the Host header in lower case; programs on this machine that call kurz by a
        local name are not a proxy."""
        if peer not in LOOPBACK or _name_of(host) in LOCAL_NAMES:
            return
        if is_named:
            self._named += 1
        else:
            self._unnamed += 1
        problem = self._judge()
        if problem != self._problem:
            self._problem = problem
            if problem is not None:
                log.warning(problem)
            self._note(problem)

    def _judge(self) -> str | None:
        if self._unnamed < max(ENOUGH, SHARE * self._named):
            return None
        return SOME if self._named else NOBODY


def _name_of(host: str) -> str:
    """Without its port."""
    return host.partition("]")[0].removeprefix("[") if "[" in host else host.partition(":")[0]
