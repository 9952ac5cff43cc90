"""No secret can be read in the database, the files or the log."""

import base64
import hashlib
from pathlib import Path
from typing import Any

import httpx2
import sqlalchemy as sa

from kurz.settings.model import Settings
from kurz.storage.schema import base
from kurz.wiring.core import open_kurz
from support.engines import redis_in_the_long_run, usually_on
from support.patience import PATIENCE

engine = redis_in_the_long_run

KEYS = "/api/v1/keys"
ME = "/api/v1/me"
LINKS = "/api/v1/links"
URL = {"original_url": "https://example.com/"}


def by(key: str) -> dict[str, str]:
    return {"x-api-key": key}


async def _dump(settings: Settings) -> bytes:
    """Every value of every table."""

    def read(connection: sa.Connection) -> bytes:
        found = []
        for table in base.metadata.sorted_tables:
            for row in connection.execute(sa.select(table)):
                found += [v if isinstance(v, bytes) else str(v).encode() for v in row]
        return b"\n".join(found)

    async with open_kurz(settings) as kurz:
        return await kurz.database.read(read)


def _files(folder: Path) -> bytes:
    """Every byte of the data folder, but for the secret."""
    paths = [path for path in folder.rglob("*") if path.is_file() and path.name != "secret"]
    return b"\n".join(path.read_bytes() for path in paths)


def _spellings(secret: str) -> list[bytes]:
    plain = secret.encode()
    return [
        plain,
        plain.hex().encode(),
        base64.b64encode(plain)[:-4],
        plain.decode()[::-1].encode(),
    ]


class Visitor:
    """Does what people do, and remembers every secret that was sent or shown on the way."""

    def __init__(self, client: httpx2.Client) -> None:
        self._client = client
        self.secrets: dict[str, str] = {}

    def post(self, path: str, body: Any, status: int, **headers: str) -> dict[str, Any]:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        answer = self._client.post(path, json=body, headers=named)
        assert answer.status_code == status, answer.text
        found: dict[str, Any] = answer.json()
        return found

    def keep(self, name: str, secret: str) -> str:
        self.secrets[name] = secret
        return secret

    def set_up(self, token: str) -> str:
        password = self.keep("first password", "a horse, a battery, a staple")
        body = {"email": "ada@example.com", "password": password}
        link = self.keep("set-up link", token)
        self.post("/api/v1/auth/reset", {"token": link, "password": password}, 422)
        made = self.post("/api/v1/auth/setup", {"token": link, **body}, 201)
        return self.keep("token", made["token"])

    def sign_in_by_cookie(self, password: str) -> None:
        body = {"email": "ada@example.com", "password": password, "as_cookie": True}
        answer = self._client.post("/api/v1/auth/sign-in", json=body)
        self.keep("cookie", answer.cookies["kurz"])
        self.keep("device cookie", answer.cookies["kurz-device"])
        self._client.cookies.clear()

    def fail_to_sign_in(self) -> None:
        wrong = self.keep("wrong password", "this was the password of my bank")
        body = {"email": "ada@example.com", "password": wrong}
        self.post("/api/v1/auth/sign-in", body, 401)
        # A slip of the finger: the password stands where the address belongs, or in a broken body.
        slip = self.keep("password as address", "my password in the wrong field")
        self.post("/api/v1/auth/sign-in", {"email": slip, "password": "x"}, 401)
        self.post("/api/v1/auth/register", {"email": slip, "password": slip}, 422)
        self.post("/api/v1/auth/register", {"email": [slip], "pass": slip}, 422)
        broken = f'{{"password": "{slip}"'
        headers = {"content-type": "application/json"}
        self._client.post("/api/v1/auth/sign-in", content=broken, headers=headers)
        for value in (f"Basic {slip}", f"Bearer {slip}"):
            self._client.get(ME, headers={"authorization": value})

    def use_a_key(self, bearer: str) -> None:
        body = {"name": "a key", "scopes": ["links:read", "links:write"]}
        made = self.post(KEYS, body, 201, authorization=bearer, idempotency_key="one")
        key = self.keep("key", made["key"])
        self.keep("secret of the key", key.split("_", 2)[2])
        assert self._client.get(ME, headers=by(key)).status_code == 200
        assert self._client.get(ME, params={"api_key": key}).status_code == 401
        assert self._client.get("/nothing", params={"token": key}).status_code == 404

    def claim(self, bearer: str) -> None:
        made = self.post(LINKS, URL, 201, idempotency_key="two")
        token = self.keep("claim token", made["claim_token"])
        item = {"short_code": made["short_code"], "claim_token": token, **URL}
        self.post("/api/v1/claims", {"items": [item]}, 200, authorization=bearer)
        open_one = self.post(LINKS, URL, 201)  # one that nobody claims
        self.keep("other claim token", open_one["claim_token"])

    def hand_out_links(self, bearer: str) -> None:
        me = self._client.get(ME, headers={"authorization": bearer}).json()
        path = f"/api/v1/admin/accounts/{me['id']}/reset-link"
        made = self.post(path, None, 201, authorization=bearer, idempotency_key="three")
        self.keep("reset link", made["token"])
        made = self.post("/api/v1/admin/invitations", None, 201, authorization=bearer)
        self.keep("invitation", made["token"])
        self.post("/api/v1/auth/reset", {"token": made["token"], "password": "x" * 9}, 422)

    def change_password(self, bearer: str) -> None:
        new = self.keep("second password", "🐎 another horse, another battery")
        body = {"old_password": self.secrets["first password"], "new_password": new}
        made = self.post("/api/v1/auth/password", body, 200, authorization=bearer)
        self.keep("second token", made["token"])


@usually_on("sqlite")
async def test_no_secret_can_be_read_in_the_database_or_the_log(
    addresses, environment, start_program, tmp_path
):
    folder = tmp_path / "kurz-data"
    url = addresses.get("database_url")
    program = start_program(**environment, KURZ_LOG_LEVEL="debug")
    with program.client() as client:
        visitor = Visitor(client)
        bearer = f"Bearer {visitor.set_up(program.set_up_token)}"
        visitor.sign_in_by_cookie(visitor.secrets["first password"])
        visitor.fail_to_sign_in()
        visitor.use_a_key(bearer)
        visitor.claim(bearer)
        visitor.hand_out_links(bearer)
        visitor.change_password(bearer)
    tables = await _dump(Settings(data_dir=folder, database_url=url, **PATIENCE))
    files = _files(folder)
    program.stop()
    # The start prints the set-up link, to whoever started it, and nothing else does.
    printed = program.output.replace(program.set_up_token, "")
    log = program.log().encode() + printed.encode()
    # What is there shows that the search would find what must not be.
    key_hash = hashlib.sha256(visitor.secrets["secret of the key"].encode()).digest()
    for wanted in (b"ada@example.com", b"$2b$", key_hash):
        assert wanted in tables
        assert url or wanted in files
    assert b"/api/v1/auth/sign-in" in log
    visitor.keep("installation's secret", (folder / "secret").read_text().strip())
    for token in ("token", "second token", "cookie", "device cookie"):
        visitor.keep(f"signature of the {token}", visitor.secrets[token].rpartition(".")[2])
    for name, secret in visitor.secrets.items():
        for spelling in _spellings(secret):
            assert spelling not in tables, name
            assert spelling not in files, name
            assert spelling not in log, name
