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
    """`whose` and `what` in plain words: "An account", "API keys"."""

    kind = Kind.CONFLICT
    code = "limit-reached"
    title = "A limit is reached"

    def __init__(self, whose: str, what: str, at_most: int, remedy: str) -> None:
        sentence = f"{whose} can have at most {at_most} {what}. {remedy}"
        super().__init__(sentence, limit=at_most)
