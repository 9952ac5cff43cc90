"""A restored installation beside the Redis that the old one used."""

import pytest

from support.clicks import wait_until
from support.terminal import Terminal

pytestmark = pytest.mark.parametrize("engine", ["postgres+redis"], indirect=True)
API = "/api/v1/links"
PERSON = {"email": "ada@example.com", "password": "correct horse battery staple"}


def test_nothing_that_was_cached_after_the_backup_is_served(
    program, environment, start_program, make_database, tmp_path, valkey
):
    file = str(tmp_path / "kurz.backup")
    with program.client() as client:
        token = client.post("/api/v1/auth/register", json=PERSON).json()["token"]
        client.headers["authorization"] = f"Bearer {token}"
        changed = client.post(API, json=link("changed", "old")).json()
        program.run("backup", file)
        client.patch(f"{API}/{changed['id']}", json={"original_url": "https://example.com/new"})
        assert client.post(API, json=link("later", "new")).status_code == 201
        for code in "changed", "later":
            assert client.get(f"/{code}").headers["location"] == "https://example.com/new"
    wait_until(lambda: len(cached(valkey)) == 2)
    before = cached(valkey)
    program.stop()

    restored = environment | {
        "KURZ_DATABASE_URL": make_database(),
        "KURZ_DATA_DIR": str(tmp_path / "restored"),
    }
    Terminal(restored).do("restore", file)
    with start_program(**restored).client() as client:
        assert client.get("/changed").headers["location"] == "https://example.com/old"
        assert client.get("/later").status_code == 404
        bearer = {"authorization": f"Bearer {token}"}
        assert client.get("/api/v1/me", headers=bearer).status_code == 401
    wait_until(lambda: len(cached(valkey)) == 4)
    assert before < cached(valkey)  # what the old installation has cached is not even read


def link(code: str, path: str) -> dict[str, str]:
    return {"original_url": f"https://example.com/{path}", "custom_code": code}


def cached(valkey) -> set[str]:
    """The keys of cached links."""
    found = valkey.ask("KEYS kurz:*:route-*")
    return {line for line in found.splitlines() if line.startswith("kurz:")}
