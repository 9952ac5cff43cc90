"""`kurz admin …` and the first administrator, as whoever runs an installation meets them."""

import asyncio
import json
import re
from datetime import datetime
from pathlib import Path

import pytest

from kurz.people.access import Permission
from kurz.people.passwords import Passwords
from kurz.settings.model import Settings
from kurz.wiring.core import open_kurz
from kurz.wiring.engine import prepare
from support.long_run import in_the_long_run
from support.people import PASSWORD, People
from support.terminal import Terminal

EMAIL = "ada@example.com"
NEW_PASSWORD = "another horse, another battery"
PUBLIC_URL = "https://go.example.com"
PUBLIC = {"host": "go.example.com", "x-forwarded-proto": "https"}


@pytest.fixture
def terminal(settings, environment):
    """A terminal on an empty database of the engine."""
    asyncio.run(prepare(settings, upgrades_postgres=False))
    return Terminal(environment | {"KURZ_DATA_DIR": str(settings.data_dir)})


async def _fill(settings: Settings) -> None:
    await prepare(settings, upgrades_postgres=False)
    async with open_kurz(settings, passwords=Passwords(cost=4)) as kurz:
        people = People(kurz)
        admin = await people.add("admin@example.com", is_admin=True)
        person = await people.add("ada@example.com")
        await people.key(person, Permission.LINKS_READ)
        await people.workspace(admin, "team")


@pytest.fixture(scope="module")
def filled_terminal(tmp_path_factory):
    """An embedded database with people in it, for commands that fail or change nothing."""
    data_dir = tmp_path_factory.mktemp("kurz") / "data"
    asyncio.run(_fill(Settings(data_dir=data_dir)))
    return Terminal({"KURZ_DATA_DIR": str(data_dir)})


def test_large_imports_are_allowed_and_limited_again(terminal, tmp_path):
    file = tmp_path / "password"
    file.write_text(PASSWORD)
    terminal.run("admin", "create", EMAIL, "--password-file", str(file))
    done = terminal.run("admin", "allow-imports", EMAIL)
    assert done.stdout == f"{EMAIL} can import up to 100,000 rows from one file.\n"
    assert terminal.json("admin", "list")["accounts"][0]["may_import_many"] is True
    assert terminal.run("admin", "list").stdout.split()[-1] == "large"
    done = terminal.run("admin", "limit-imports", EMAIL)
    assert done.stdout == f"{EMAIL} can import up to 1,000 rows from one file.\n"
    assert terminal.json("admin", "list")["accounts"][0]["may_import_many"] is False
    assert terminal.run("admin", "list").stdout.split()[-1] == "default"
    assert terminal.run("admin", "allow-imports", "nobody@example.com").returncode == 3


def test_people_are_looked_after(terminal, tmp_path):
    file = tmp_path / "password"
    file.write_text(f"{PASSWORD}\n")
    made = terminal.run("admin", "create", "Admin@Example.com", "--password-file", str(file))
    assert (made.returncode, made.stderr) == (0, "")
    assert made.stdout == "admin@example.com is an administrator.\n"
    second = terminal.json(
        "admin", "create", "ada@müller.de", "--password-file", "-", stdin=f"{NEW_PASSWORD}\r\n"
    )
    assert second["email"] == "ada@xn--mller-kva.de"
    assert second["is_admin"] is True
    assert set(second) == {
        "id",
        "email",
        "is_admin",
        "created_at",
        "signed_in_at",
        "disabled_at",
        "may_import_many",
    }
    disabled = terminal.run("admin", "disable", "ADA@müller.de")
    assert disabled.stdout == "ada@xn--mller-kva.de is now disabled.\n"
    lost = terminal.run("admin", "disable", "admin@example.com")
    assert lost.returncode == 4
    assert lost.stderr == (
        "kurz: This is the last administrator. Make someone else an administrator first.\n"
    )
    table = terminal.run("admin", "list")
    lines = [line.split() for line in table.stdout.splitlines()]
    assert [line[:2] for line in lines[1:]] == [
        ["disabled", "ada@xn--mller-kva.de"],
        ["admin", "admin@example.com"],
    ]
    assert "2 accounts" in table.stderr
    enabled = terminal.run("admin", "enable", "ada@müller.de")
    assert enabled.stdout == "ada@xn--mller-kva.de is now enabled.\n"
    accounts = terminal.json("admin", "list")["accounts"]
    assert [item["disabled_at"] for item in accounts] == [None, None]
    assert "hash" not in json.dumps(accounts)


def test_keys_and_workspaces_are_looked_after(filled_terminal):
    terminal = filled_terminal
    created = terminal.json(
        "admin", "workspace", "create", "press", "--owner", EMAIL, "--name", "Press office"
    )
    assert (created["slug"], created["name"]) == ("press", "Press office")
    spaces = terminal.json("admin", "workspace", "list")["workspaces"]
    assert (created["id"], None) in [(item["id"], item["deleted_at"]) for item in spaces]
    arguments = ("admin", "key", "create", EMAIL, "--name", "script")
    made = terminal.run(*arguments, "--scope", "links:read", "--scope", "links:write")
    assert re.fullmatch(r"kurz_\w{8}_[\w-]{43}\n", made.stdout)
    assert "not shown again" in made.stderr
    dated = terminal.json(
        *arguments, "--scope", "links:read", "-w", "press", "--expires-at", "2090-01-31T18:00Z"
    )
    keys = terminal.json("admin", "key", "list", EMAIL)["keys"]
    by_prefix = {item["prefix"]: item for item in keys}
    shown = by_prefix[dated["key"][:13]]
    assert datetime.fromisoformat(shown["expires_at"]).year == 2090
    assert shown["workspace_id"] == created["id"]
    table = terminal.run("admin", "key", "list", EMAIL)
    for text in (made.stdout.strip(), dated["key"]):
        assert text[:13] in table.stdout
        assert text[14:] not in table.stdout + table.stderr + json.dumps(keys)
    assert "3 keys" in table.stderr
    prefix = dated["key"][:13]
    revoked = terminal.run("admin", "key", "revoke", EMAIL, prefix)
    assert revoked.stdout == f"{prefix} was revoked.\n"
    again = terminal.run("admin", "key", "revoke", EMAIL, prefix)
    assert again.returncode == 3
    left = terminal.json("admin", "key", "list", EMAIL)["keys"]
    prefixes = [item["prefix"] for item in left]
    assert made.stdout[:13] in prefixes
    assert prefix not in prefixes


MISTAKES: list[tuple[list[str], str | bytes, int, str]] = [
    (["create", "eve@example.com", "--password-file", "-"], "password1", 2, "too common"),
    (["reset-password", "nobody@example.com"], "", 3, "no account"),
    (["workspace", "create", "team", "--owner", "ada@example.com"], "", 4, "slug"),
    (["key", "create", EMAIL, "--name", "x", "--scope", "admin"], "", 6, "not an administrator"),
]
MORE_MISTAKES: list[tuple[list[str], str | bytes, int, str]] = [
    (["create", "ada", "--password-file", "-"], PASSWORD, 2, "e-mail address"),
    (["create", "admin@example.com", "--password-file", "-"], PASSWORD, 4, "set a new password"),
    (["create", "eve@example.com", "--password-file", "-"], b"\xff" * 20, 2, "password"),
    (["create", "eve@example.com", "--password-file", "/nowhere"], "", 2, "/nowhere"),
    (["create", "eve@example.com"], "", 2, "--password-file"),
    (["key", "revoke", "ada@example.com", "kurz_nothing"], "", 3, "no key"),
    (["key", "create", "ada@example.com", "--name", "x", "--scope", "all"], "", 2, "links:read"),
    (
        ["key", "create", "ada@example.com", "--name", "x", "--scope", "links:read", "-w", "none"],
        "",
        3,
        "no workspace",
    ),
    (
        [
            *["key", "create", "ada@example.com", "--name", "x", "--scope", "links:read"],
            *["--expires-at", "2001-01-01"],
        ],
        "",
        2,
        "in the past",
    ),
    (
        ["key", "create", EMAIL, "--name", "x", "--scope", "links:read", "-w", "team"],
        "",
        3,
        "not a member of this workspace",
    ),
    (["frobnicate"], "", 2, "frobnicate"),
]


@pytest.mark.parametrize(
    ("arguments", "stdin", "code", "words"), [*MISTAKES, *in_the_long_run(*MORE_MISTAKES)], ids=str
)
def test_a_mistake_gets_one_line_and_a_code_of_its_own(
    filled_terminal, arguments, stdin, code, words
):
    done = filled_terminal.run("admin", *arguments, stdin=stdin)
    assert done.returncode == code, done.stderr
    assert done.stdout == ""
    assert done.stderr.startswith("kurz: ")
    assert done.stderr.count("\n") == 1
    assert words in done.stderr
    typed = stdin if isinstance(stdin, str) else ""
    assert len(typed) < 9 or typed not in done.stderr


def test_without_a_database_nothing_is_made(tmp_path):
    terminal = Terminal({"KURZ_DATA_DIR": str(tmp_path / "none")})
    done = terminal.run("admin", "create", "a@example.com", "--password-file", "-", stdin=PASSWORD)
    assert done.returncode == 78
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "none").exists()


def test_a_password_is_asked_twice_and_never_shown(filled_terminal):
    email = "typed@example.com"
    code, screen = filled_terminal.type_at(
        "admin", "create", email, answers=[PASSWORD, NEW_PASSWORD, PASSWORD, PASSWORD]
    )
    assert code == 0, screen
    assert f"{email} is an administrator." in screen
    for word in ("horse", "battery", "staple"):
        assert word not in screen


# Links that are printed, and used over HTTP


def _token(url: str, page: str, base: str = PUBLIC_URL) -> str:
    start, _, token = url.partition("#")
    assert start == f"{base}/app/{page}"
    assert len(token) == 43
    return token


def test_an_administrator_of_the_settings_and_printed_links(start_program, tmp_path):
    """One server for all of it: it takes a second to start."""
    file = tmp_path / "password"
    file.write_text(f"{PASSWORD}\n")
    environment = {
        "KURZ_BASE_URL": PUBLIC_URL,
        "KURZ_ACCESS": "private",
        "KURZ_ADMIN_EMAIL": "Admin@example.com",
        "KURZ_ADMIN_PASSWORD_FILE": str(file),
    }
    program = start_program(**environment)
    terminal = Terminal({"KURZ_DATA_DIR": str(tmp_path / "kurz-data"), **environment})
    assert "set-up" not in program.output
    with program.client(headers=PUBLIC) as client:

        def sign_in(password: str) -> int:
            body = {"email": "admin@example.com", "password": password}
            return int(client.post("/api/v1/auth/sign-in", json=body).status_code)

        assert sign_in(PASSWORD) == 200
        printed = terminal.run("admin", "reset-password", "admin@example.com")
        assert "Works once" in printed.stderr
        body = {"token": _token(printed.stdout.strip(), "reset"), "password": NEW_PASSWORD}
        assert client.post("/api/v1/auth/reset", json=body).status_code == 200
        assert client.post("/api/v1/auth/reset", json=body).status_code == 422
        assert (sign_in(PASSWORD), sign_in(NEW_PASSWORD)) == (401, 200)

        invited = terminal.json("admin", "invite")
        assert datetime.fromisoformat(invited["expires_at"]).tzinfo is not None
        body = {"email": "ada@example.com", "password": PASSWORD}
        closed = client.post("/api/v1/auth/register", json=body)
        assert closed.status_code == 403
        body["invitation"] = _token(invited["url"], "join")
        made = client.post("/api/v1/auth/register", json=body)
        assert made.status_code == 201
        assert made.json()["account"]["is_admin"] is False
        body["email"] = "eve@example.com"
        assert client.post("/api/v1/auth/register", json=body).status_code == 422
    program.stop()
    program.start()  # the administrator is there, and keeps the new password
    assert "set-up" not in program.output
    with program.client(headers=PUBLIC) as client:
        assert (sign_in(PASSWORD), sign_in(NEW_PASSWORD)) == (401, 200)
    shown = program.log() + program.output
    for secret in (PASSWORD, NEW_PASSWORD, str(body["invitation"])):
        assert secret not in shown


def test_a_set_up_link_is_printed_and_the_last_one_works_once(start_program, tmp_path):
    program = start_program(KURZ_BASE_URL=PUBLIC_URL)
    secret_path = tmp_path / "kurz-data" / "secret"
    assert secret_path.stat().st_mode & 0o777 == 0o600
    secret = secret_path.read_text()
    (url,) = re.findall(r"^set-up +(\S+)", program.output, re.MULTILINE)
    first = _token(url, "setup")
    environment = {"KURZ_DATA_DIR": str(tmp_path / "kurz-data"), "KURZ_BASE_URL": PUBLIC_URL}
    terminal = Terminal(environment)
    printed = terminal.run("admin", "setup-link")
    assert "Works once" in printed.stderr
    assert [entry["action"] for entry in terminal.json("admin", "audit")["entries"]] == [
        "make-setup-link"
    ]
    token = _token(printed.stdout.strip(), "setup")
    with program.client(headers=PUBLIC) as client:
        body = {"email": "eve@example.com", "password": PASSWORD}
        made = client.post("/api/v1/auth/register", json=body)
        assert made.json()["account"]["is_admin"] is False
        body = {"email": "admin@example.com", "password": PASSWORD, "token": first}
        assert client.post("/api/v1/auth/setup", json=body).status_code == 422
        body["token"] = token
        made = client.post("/api/v1/auth/setup", json=body)
        assert made.status_code == 201
        assert made.json()["account"]["is_admin"] is True
        session = {"authorization": f"Bearer {made.json()['token']}"}
        body["email"] = "other@example.com"
        assert client.post("/api/v1/auth/setup", json=body).status_code == 422
    assert token not in program.log()
    refused = terminal.run("admin", "setup-link")
    assert (refused.returncode, refused.stdout) == (4, "")
    assert "kurz admin create" in refused.stderr
    program.stop()
    program.start()
    assert "set-up" not in program.output
    with program.client(headers=PUBLIC | session) as client:  # the secret is still the same
        assert client.get("/api/v1/me").status_code == 200
    assert secret_path.read_text() == secret
    assert secret.strip() not in program.output + program.log()


@pytest.mark.parametrize(
    ("environment", "words"),
    [
        ({"KURZ_SECRET": "too-short-4f8a2c6e"}, "KURZ_SECRET"),
        ({"KURZ_SECRET_FILE": "weak"}, "KURZ_SECRET_FILE"),
        ({"KURZ_DATA_DIR": "folder-with-weak-secret"}, "folder-with-weak-secret/secret"),
        ({"KURZ_ADMIN_EMAIL": "admin@example.com"}, "KURZ_ADMIN_PASSWORD_FILE"),
        (
            {"KURZ_ADMIN_EMAIL": "admin@example.com", "KURZ_ADMIN_PASSWORD": "s3cr3t!"},
            "KURZ_ADMIN_PASSWORD",
        ),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, dict) else "",
)
def test_a_server_with_weak_secrets_does_not_start_and_does_not_tell_them(
    tmp_path, monkeypatch, environment, words
):
    monkeypatch.chdir(tmp_path)
    weak = "xyxyxyxyxyxyxyxyxyxyxyxyxyxyxyxyxyxyxyxy"
    for file in (Path("weak"), Path("folder-with-weak-secret/secret")):
        file.parent.mkdir(exist_ok=True)
        file.write_text(weak)
    terminal = Terminal({"KURZ_DATA_DIR": "data", "KURZ_PORT": "0", **environment})
    done = terminal.run("serve")
    assert done.returncode == 78, done.stderr
    assert words in done.stderr
    assert done.stderr.splitlines()[-1].startswith("kurz: ")
    assert "Traceback" not in done.stderr
    told = ("KURZ_SECRET", "KURZ_ADMIN_PASSWORD")
    secrets = {weak, *(value for name, value in environment.items() if name in told)}
    assert not any(secret in done.stderr + done.stdout for secret in secrets)


@pytest.mark.parametrize("engine", ["sqlite"], indirect=True)
def test_quotas_are_set_on_the_command_line(terminal, tmp_path):
    password = tmp_path / "password"
    password.write_text(PASSWORD)
    terminal.run("admin", "create", EMAIL, "--password-file", str(password))
    terminal.run("admin", "workspace", "create", "lab", "--owner", EMAIL)
    for given, shown in (
        ((), "unlimited (the default)"),
        (("50",), "50 links per month"),
        (("unlimited",), "unlimited"),
        (("default",), "unlimited (the default)"),
    ):
        assert terminal.run("admin", "quota", EMAIL, *given).stdout == f"{EMAIL}: {shown}\n"
    for given, shown in (
        ((), "unlimited"),
        (("7",), "7 links per month"),
        (("0",), "0 links per month"),
        (("unlimited",), "unlimited"),
    ):
        done = terminal.run("admin", "workspace", "quota", "lab", *given)
        assert done.stdout == f"@lab: {shown}\n"
    for command in (("admin", "quota", EMAIL), ("admin", "workspace", "quota", "lab")):
        refused = terminal.run(*command, "lots")
        assert refused.returncode == 2
        assert "a quota must be a number" in refused.stderr
