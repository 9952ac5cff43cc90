"""Writes the API's OpenAPI document to docs/reference/openapi.json; `make openapi` runs it."""

import json
from pathlib import Path
from typing import Any, cast

from kurz.api.app import create_api
from kurz.api.http.dependencies import Context

TARGET = Path(__file__).resolve().parent.parent / "docs" / "reference" / "openapi.json"


def document() -> str:
    # The document depends on the routes alone, so the services behind them may be missing.
    context = cast("Context", cast("Any", None))
    return json.dumps(create_api(context).openapi(), indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    TARGET.parent.mkdir(parents=True, exist_ok=True)
    TARGET.write_text(document())
