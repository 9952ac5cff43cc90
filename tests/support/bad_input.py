"""Requests to create a link, and what every refusal of one looks like."""

import json
import re

import httpx2
import pytest
import sqlalchemy as sa

from kurz.storage.schema.links import links
from kurz.wiring.core import Kurz
from support.engines import redis_in_the_long_run

engine = redis_in_the_long_run

URL = "https://example.com/"
API = "/api/v1/links"
DIALECT = "/api/urls/public"
JSON = {"content-type": "application/json"}
MAX_BODY = 16 * 1024
on_sqlite = pytest.mark.parametrize("engine", ["sqlite"], indirect=True)


def body(**fields: object) -> bytes:
    return json.dumps({"original_url": URL, **fields}).encode()


def check_problem(answer: httpx2.Response) -> tuple[int, str]:
    """Every refusal has the same form; gives its status and code."""
    assert 400 <= answer.status_code < 500, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    problem = answer.json()
    assert problem["status"] == answer.status_code
    assert problem["type"].startswith("/api/problems/")
    assert problem["title"]
    assert re.fullmatch(r"\S.{10,}[.]", problem["detail"])
    for trace in ("Traceback", 'File "', "Error:", "pydantic", "sqlalchemy", "0x"):
        assert trace not in answer.text
    return answer.status_code, problem["type"].removeprefix("/api/problems/")


async def count_links(kurz: Kurz) -> int:
    count = sa.select(sa.func.count()).select_from(links)
    return await kurz.database.read(lambda connection: connection.execute(count).scalar_one())
