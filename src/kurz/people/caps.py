"""How many of something an account or a workspace may have. Stores count in the transaction of the
write, so that parallel requests cannot exceed a cap."""

from dataclasses import dataclass
from typing import NamedTuple

from kurz.errors import Conflict

UNCAPPED = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Caps:
    """For the API; the command line has no caps. `UNCAPPED`: no limit."""

    workspaces: int = UNCAPPED  # that an account owns
    keys: int = UNCAPPED  # of an account
    slugs: int = UNCAPPED  # of a workspace, including earlier ones, which stay taken
    domains: int = UNCAPPED  # of a workspace
    invitations: int = UNCAPPED  # to a workspace, not used yet


class Cap(NamedTuple):
    whose: str
    what: str
    remedy: str
    setting: str


_ACCOUNT, _WORKSPACE = "An account", "A workspace"
WORKSPACES = Cap(
    _ACCOUNT, "workspaces of its own", "Transfer one to someone else", "KURZ_LIMIT_WORKSPACES"
)
KEYS = Cap(_ACCOUNT, "API keys", "Revoke one you no longer use", "KURZ_LIMIT_KEYS")
SLUGS = Cap(_WORKSPACE, "slugs, former ones included", "Use a former one", "KURZ_LIMIT_SLUGS")
DOMAINS = Cap(_WORKSPACE, "domains", "Remove one that is not verified", "KURZ_LIMIT_DOMAINS")
INVITATIONS = Cap(_WORKSPACE, "open invitations", "Revoke one", "KURZ_LIMIT_INVITATIONS")


class CapReached(Conflict):
    code = "limit-reached"
    title = "Limit reached"

    def __init__(self, cap: Cap, at_most: int) -> None:
        super().__init__(
            f"{cap.whose} can have at most {at_most} {cap.what}."
            f" {cap.remedy}, or ask an administrator to raise {cap.setting}.",
            limit=at_most,
            setting=cap.setting,
        )
