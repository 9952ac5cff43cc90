"""`kurz` that records no click: what makes and what writes a record does nothing. Only to measure
what recording costs; there is no setting for it."""

from typing import Any

from kurz.cli.app import main
from kurz.clicks.journal import Journal
from kurz.redirect import visits
from kurz.redirect.visits import Visits


def _disable(owner: Any, name: str, result: bytes | None) -> None:
    assert callable(getattr(owner, name)), f"{owner} has no {name} any more"
    setattr(owner, name, lambda *_: result)


_disable(visits, "encode", b"")
_disable(Visits, "describe", b"")
_disable(Visits, "describe_trimmed", b"")
_disable(Journal, "write", None)
main()
