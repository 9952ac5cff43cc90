"""Every command of the README and the guides works as they show it, on a fresh server."""

import asyncio
from collections import Counter
from pathlib import Path

import docs_run
import pytest

import kurz
from kurz.links.model import Draft
from kurz.people.access import Permission
from kurz.safety.audit import OPERATOR
from kurz.settings.load import load, variable
from kurz.settings.model import fields
from kurz.wiring.core import Kurz
from kurz.wiring.engine import prepare
from support.clicks import wait_until
from support.document_outputs import Differs, compare
from support.document_shell import DocumentShell, Done, NotUnderstood
from support.documents import Command, blocks_of, commands_of
from support.people import People
from support.program import Program
from support.terminal import Terminal

ROOT = Path(kurz.__file__).parent.parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs" / "guides").glob("*.md"))]
# `make docs-run` runs these.
INSTALL_PAGES = set(docs_run.PAGES.values())
KNOWN = {variable(item.name) for item in fields()}
PASSWORD = "correct horse battery"
HOSTS = ("https://go.example.com", "https://short.example.net")
# Who has an account before the first command. The first of them is the reader, an administrator.
PEOPLE = {
    "README.md": (),
    "getting-started.md": (),
    "postgresql.md": (),
    "command-line.md": ("admin@example.com", "grace@example.com"),
    "configuration.md": ("admin@example.com",),
    "people-and-workspaces.md": ("bob@example.com", "grace@example.com"),
}
EVERYBODY = ("ada@example.com", "grace@example.com")
ENGINES = {"postgresql.md": "postgres", "redis.md": "postgres+redis"}
# Commands that are not run, by document: each has its reason in the document, above its block.
NOT_RUN = {
    "README.md": 2,
    "archive.md": 6,
    "automation.md": 8,
    "backup.md": 12,
    "cluster.md": 2,
    "command-line.md": 1,
    "configuration.md": 5,
    "custom-domains.md": 1,
    "monitoring.md": 1,
    "postgresql.md": 3,
    "redis.md": 2,
    "running.md": 9,
    "safety.md": 3,
    "troubleshooting.md": 1,
}


@pytest.fixture
def engine(page: Path) -> str:
    return ENGINES.get(page.name, "sqlite")


async def _fill(parts: Kurz, page: str) -> dict[str, str]:
    """The accounts, a workspace, some links, and the reader's credentials."""
    people, names = People(parts), PEOPLE.get(page, EVERYBODY)
    if not names:
        return {}
    if page == "people-and-workspaces.md":  # it begins without an administrator
        reader, _ = [await people.add(email) for email in names]
        return {"TOKEN": reader.token}
    accounts = [await parts.accounts.create_admin(email, PASSWORD) for email in names]
    reader = people.sign_in(accounts[0])
    for host in ("a.example", "b.example", "c.example", "d.example"):
        await parts.audit.record(OPERATOR, "ban-host", f"host {host}", {"reason": "phishing"})
    if page not in ("command-line.md", "configuration.md"):
        press = await people.workspace(reader, "press")
        await parts.links.create(
            Draft(
                original_url="https://example.com/spring",
                workspace_id=press.id,
                owner_id=reader.id,
                tags=("spring",),
            )
        )
    if page not in ("automation.md", "command-line.md", "postgresql.md"):
        for code in ("launch", "sale", "handbook"):
            url = f"https://example.com/{code}"
            await parts.links.create(Draft(original_url=url, custom_code=code, owner_id=reader.id))
    return {"KEY": await people.key(reader, *Permission), "TOKEN": reader.token}


async def _make_others(parts: Kurz) -> dict[str, str]:
    """More links than a page of a list has, and one that can be claimed; gives what the documents
    call that one and its token."""
    for number in range(4):
        await parts.links.create(Draft(original_url=f"https://example.com/other/{number}"))
    made = await parts.links.create(Draft(original_url="https://example.com/", is_anonymous=True))
    assert made.claim_token is not None
    return {"bYAiBFo": made.link.short_code, "RXYZ…": made.claim_token}


@pytest.mark.parametrize(
    "page",
    [
        page
        for page in PAGES
        if page.name not in INSTALL_PAGES and any(not it.not_run for it in commands_of(page))
    ],
    ids=lambda path: path.name,
)
def test_the_commands_of_the_documents_work(page, environment, start_program, tmp_path):
    """Each page by itself, from its first command to its last."""
    folder = tmp_path / "reader"
    folder.mkdir()
    environment = environment | {"KURZ_DATA_DIR": str(folder / "kurz-data")}
    asyncio.run(prepare(load({}, environment).settings, upgrades_postgres=False))
    terminal = Terminal(environment)
    credentials = terminal.prepare(lambda parts: _fill(parts, page.name))
    learnt = terminal.prepare(_make_others)
    based = {"KURZ_BASE_URL": HOSTS[0]} if page.name == "behind-a-proxy.md" else {}
    program = start_program(**environment, **based)

    def serve(changed: dict[str, str]) -> str:
        own = {name: value for name, value in changed.items() if name.startswith("KURZ_")}
        if "KURZ_ROOT_WORKSPACE" not in own:
            own["KURZ_DATA_DIR"] = str(folder / "beside" / "kurz-data")
        beside = start_program(**own | {"KURZ_PORT": "0"})
        beside.stop()
        return str(beside.output.replace(beside.url, program.url))

    def ask(arguments: list[str], changed: dict[str, str]) -> Done:
        """The reader is whoever was made an administrator."""
        code, screen = Terminal(changed).type_at(*arguments, answers=[PASSWORD, PASSWORD])
        if page.name == "people-and-workspaces.md":
            body = {"email": arguments[-1], "password": PASSWORD}
            with program.client() as client:
                token = client.post("/api/v1/auth/sign-in", json=body).json()["token"]
                bearer = {"authorization": f"Bearer {token}"}
                team = {"name": "Team", "slug": "team"}
                client.post("/api/v1/workspaces", json=team, headers=bearer)
            shell.environment["TOKEN"] = token
        return Done(code, screen)

    (folder / "secrets").mkdir()
    (folder / "secrets" / "kurz-admin-password").write_text(PASSWORD)
    (folder / "lists").mkdir()
    for name in ("urlhaus.txt", "own.txt", "fine.txt"):
        (folder / "lists" / name).write_text("evil.example\n")
    shell = DocumentShell(
        folder,
        terminal.environment | environment | credentials,
        {
            **dict.fromkeys(HOSTS, program.url),
            "http://127.0.0.1:8080": program.url,
            "/srv/kurz": str(folder / "elsewhere"),
            "/etc/kurz": str(folder / "lists"),
            "/run/secrets": str(folder / "secrets"),
            "postgresql://kurz:a-long-password@db.example.com/kurz": environment.get(
                "KURZ_DATABASE_URL", ""
            ),
            "redis://cache.example.com:6379/0": environment.get("KURZ_REDIS_URL", ""),
        },
        serve,
        ask,
        learnt,
    )
    if page.name == "behind-a-proxy.md":
        del shell.replace[HOSTS[0]]
    if page.name == "statistics.md":
        _click(program)
    _run_all(page, shell)


def _click(program: Program) -> None:
    """Until it is counted."""
    with program.client() as client:
        assert client.get("/launch").status_code == 302
        wait_until(lambda: client.get("/api/stats").json()["totalRedirects"] > 0)


def _run_all(page: Path, shell: DocumentShell) -> None:
    problems = []
    for block in blocks_of(page):
        before = dict(shell.environment)
        problems += _run(page, shell, [it for it in block.commands if it.not_run is None])
        if block.is_script:  # its settings are examples
            assert settings_in(shell.environment) - settings_in(before) <= KNOWN
            shell.environment = before
    assert not problems, "\n".join(problems)


def settings_in(environment: dict[str, str]) -> set[str]:
    return {name.removesuffix("_FILE") for name in environment if name.startswith("KURZ_")}


def _run(page: Path, shell: DocumentShell, commands: list[Command]) -> list[str]:
    problems = []
    for command in commands:
        where = f"{page.name}:{command.line}: {command.text}"
        try:
            done = shell.run(command.text)
            is_refused = any(line.startswith("kurz: ") for line in command.output)
            if (done.code != 0) != is_refused:
                raise Differs(f"exit code {done.code}: {done.output[:500]}")
            learnt = compare([shell.translate(line) for line in command.output], done.output)
            shell.learnt |= learnt
        except (Differs, NotUnderstood, ValueError) as error:
            problems.append(f"{where}\n    {error}")
    return problems


def test_what_is_not_run_is_known_and_has_a_reason():
    counted = Counter(
        page.name for page in PAGES for command in commands_of(page) if command.not_run
    )
    assert counted == NOT_RUN


@pytest.mark.parametrize(
    ("shown", "output"),
    [
        ('{"id":1,…,"short_link":"x",…}', '{"id": 2, "short_url": "y"}'),
        ('{"status":410,…}', '{"status": 404}'),
        ('{"is_admin":true}', '{"is_admin": false}'),
        ("HTTP/1.1 302 Found", "HTTP/1.1 404 Not Found\n\n"),
        ("location: https://example.com/", "HTTP/1.1 302 Found\nserver: x\n\n"),
        ("http://127.0.0.1:8080/menu", "kurz: The code is taken."),
        ("http://127.0.0.1:8080/menu", "http://127.0.0.1:9000/menu"),
        ("status    link   clicks", "status    code   clicks"),
        ("421", "200"),
        ("kurz: KURZ_PORT must be a whole number", "kurz: The port is taken."),
    ],
)
def test_what_differs_is_noticed(shown, output):
    with pytest.raises(Differs):
        compare([shown], output)


def test_another_value_of_the_same_form_is_learnt():
    shown = ['{"id":7221571896435998,…,"key":"kurz_qRmtgkTV_…"}']
    assert compare(shown, '{"id": 1234567, "name": "x", "key": "kurz_a_b"}') == {
        "7221571896435998": "1234567",
        "kurz_qRmtgkTV_…": "kurz_a_b",
    }
    address = compare(["http://127.0.0.1:8080/ytKrdeI"], "http://127.0.0.1:8080/abcdefg\n")
    assert address == {"ytKrdeI": "abcdefg"}
