"""`kurz` that records no click: what makes and what writes a record does nothing. Only to measure
what recording costs; there is no setting for it."""

from typing import Any

from kurz.cli.app import main
from kurz.clicks.journal import Journal
from kurz.redirect import lane
from kurz.redirect.clicks import ClickWriter


def _disable(owner: Any, name: str, result: bytes | None) -> None:
    assert callable(getattr(owner, name)), f"{owner} has no {name} any more"
    setattr(owner, name, lambda *_: result)


_disable(lane, "encode", b"")
_disable(ClickWriter, "describe", b"")
_disable(Journal, "write", None)
main()
