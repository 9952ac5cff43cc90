"""How many of something an account or a workspace may have. Stores count in the transaction of the
write, so that parallel requests cannot pass a cap."""

from dataclasses import dataclass

from kurz.errors import Kind, KurzError

UNCAPPED = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Caps:
    """For the API; the command line has no caps. `UNCAPPED`: no limit."""

    workspaces: int = UNCAPPED  # that an account owns
    keys: int = UNCAPPED  # of an account
    slugs: int = UNCAPPED  # of a workspace, former ones too: they stay taken
    domains: int = UNCAPPED  # of a workspace
    invitations: int = UNCAPPED  # to a workspace, not used yet


class CapReached(KurzError):
    """`whose`, `what` and `remedy` in plain words: "An account", "API keys", "Revoke one"."""

    kind = Kind.CONFLICT
    code = "limit-reached"
    title = "Limit reached"

    def __init__(self, whose: str, what: str, at_most: int, *, remedy: str, setting: str) -> None:
        super().__init__(
            f"{whose} can have at most {at_most} {what}."
            f" {remedy}, or ask an administrator to raise {setting}.",
            limit=at_most,
            setting=setting,
        )
