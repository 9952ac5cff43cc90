"""The operations of the API, read from its own document."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from kurz.api.app import create_api

VERIFIED_HOST = "links.example.com"
METHODS = ("get", "put", "post", "patch", "delete")

# These two say nothing about who may call them.
PROBES = {"/healthz", "/readyz"}

# Where the thing that is asked for fails for another reason than who asks.
OTHER_ANSWERS = {"set_up": 422}  # there is an administrator already


@dataclass(frozen=True)
class Operation:
    method: str
    path: str
    about: Mapping[str, Any]

    @property
    def id(self) -> str:
        name: str = self.about["operationId"]
        return name

    @property
    def needs(self) -> str:
        found: str | None = self.about.get("x-needs")
        if found is None and self.path in PROBES:
            return "nobody"
        assert found is not None, f"{self} does not say who may call it: give it `x-needs`."
        return found

    @property
    def is_in_workspace(self) -> bool:
        return "{workspace_id}" in self.path and "/admin/" not in self.path

    @property
    def parameters(self) -> list[str]:
        return [piece[1:-1] for piece in self.path.split("/") if piece.startswith("{")]

    @property
    def success(self) -> set[int]:
        usual = {int(status) for status in self.about["responses"] if status.startswith("2")}
        return {OTHER_ANSWERS[self.id]} if self.id in OTHER_ANSWERS else usual

    def __str__(self) -> str:
        return f"{self.method.upper()} {self.path}"


def read_operations() -> list[Operation]:
    return [
        Operation(method, path, item[method])
        for path, item in DOCUMENT["paths"].items()
        for method in METHODS
        if method in item
    ]


DOCUMENT = create_api(cast("Any", None)).openapi()
OPERATIONS = read_operations()
LIVE = [operation.id for operation in OPERATIONS if operation.path.endswith("/stats/live")]
QUERIES: dict[str, dict[str, str]] = {
    **{name: {"seconds": "0"} for name in LIVE},  # else they would go on
    "import_links": {"format": "csv"},
    "import_links_in_workspace": {"format": "csv"},
    "get_availability": {"code": "summer"},
    "get_availability_in_workspace": {"code": "summer"},
    "is_domain_allowed": {"domain": VERIFIED_HOST},
}
