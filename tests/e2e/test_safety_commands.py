"""`kurz admin reports`, `ban`, `unban`, `bans` and `audit`, as the operator meets them."""

import asyncio
from typing import Any

import pytest
import typer

from kurz.cli.admin import admin
from kurz.cli.app import app as command_line
from kurz.links.model import Draft
from kurz.people.access import Permission
from kurz.people.passwords import Passwords
from kurz.safety.abuse_reports import Category, Complaint, ReportState
from kurz.settings.model import Settings
from kurz.wiring.core import open_kurz
from kurz.wiring.engine import prepare
from support.people import PASSWORD, People
from support.terminal import Terminal

# What only looks.
LOOKS = {
    ("list",),
    ("key", "list"),
    ("workspace", "list"),
    ("reports", "list"),
    ("reports", "show"),
    ("bans",),
    ("lists",),
    ("audit",),
    ("compact",),  # changes only how the database is stored
}
EMAIL = "ada@example.com"


async def _fill(settings: Settings) -> int:
    """A person with a link that was reported; gives the report's number."""
    await prepare(settings, upgrades_postgres=False)
    async with open_kurz(settings, passwords=Passwords(cost=4)) as kurz:
        people = People(kurz)
        await people.add("admin@example.com", is_admin=True)
        person = await people.add(EMAIL)
        await people.key(person, Permission.LINKS_READ)
        draft = Draft(
            original_url="https://evil.example/page", custom_code="bad", owner_id=person.id
        )
        link = (await kurz.links.create(draft)).link
        complaint = Complaint(Category.PHISHING, "It asks for my PIN.\nTwice.", "me@example.org")
        await kurz.abuse.take(link, "http://127.0.0.1:8080/bad", complaint, "203.0.113.9")
        [report] = await kurz.abuse.store.list(ReportState.OPEN, limit=1)
        return report.id


class Office(Terminal):
    report: str

    def acts(self) -> list[str]:
        return [entry["action"] for entry in self.json("admin", "audit")["entries"]]


@pytest.fixture
def office(settings, environment):
    report = asyncio.run(_fill(settings))
    office = Office(environment | {"KURZ_DATA_DIR": str(settings.data_dir)})
    office.report = str(report)
    return office


def leaves(command: Any, *path: str) -> list[tuple[str, ...]]:
    """Every command below `kurz admin`."""
    inner = getattr(command, "commands", None)
    if inner is None:
        return [path]
    return [leaf for name, item in inner.items() for leaf in leaves(item, *path, name)]


def test_the_audit_log_tells_of_every_command_that_changes_something(office, tmp_path):
    file = tmp_path / "password"
    file.write_text(PASSWORD)
    key = office.json("admin", "key", "list", EMAIL)["keys"][0]["prefix"]
    commands: dict[tuple[str, ...], list[str]] = {
        ("setup-link",): [],  # by a test of its own
        ("create",): ["new@example.com", "--password-file", str(file)],
        ("promote",): [EMAIL],
        ("demote",): [EMAIL],
        ("reset-password",): [EMAIL],
        ("disable",): [EMAIL],
        ("enable",): [EMAIL],
        ("invite",): [],
        ("quota",): [EMAIL, "10"],
        ("allow-imports",): [EMAIL],
        ("limit-imports",): [EMAIL],
        ("counter",): ["--start", "1", "--salt-file", str(file)],
        ("reaper",): ["--run"],
        ("key", "create"): [EMAIL, "--name", "x", "--scope", "links:read"],
        ("key", "revoke"): [EMAIL, key],
        ("workspace", "create"): ["team", "--owner", EMAIL],
        ("workspace", "quota"): ["team", "10"],
        ("reports", "dismiss"): [office.report],
        ("reports", "uphold"): [],  # by a test of its own
        ("ban", "link"): ["bad"],
        ("unban", "link"): ["bad"],
        ("ban", "host"): ["evil.example"],
        ("unban", "host"): ["evil.example"],
        ("ban", "person"): [EMAIL],
        ("unban", "person"): [EMAIL],
    }
    assert admin in [group.typer_instance for group in command_line.registered_groups]
    assert {*leaves(typer.main.get_command(admin))} - LOOKS == commands.keys(), (
        "is it told in the audit log?"
    )
    del commands["reports", "uphold"], commands["setup-link",]
    for number, (name, arguments) in enumerate(commands.items(), 1):
        done = office.run("admin", *name, *arguments, KURZ_COUNTER_SCRAMBLE="offset")
        assert done.returncode == 0, done.stderr
        assert len(office.acts()) == number, f"{name} leaves no trace: call `note` before the act"


def test_the_audit_log_tells_what_the_operator_does_to_others_links(office, tmp_path):
    file = tmp_path / "links.csv"
    file.write_text("code,url\nnew,https://example.com/\n")
    number = f"link {office.json('show', 'bad')['id']}"
    name = f"file {file}"
    for command, act, subject, details in (
        (("edit", "bad", "--title", "x", "--pause"), "edit-link", number, ["is_paused", "title"]),
        (("delete", "bad"), "delete-link", number, None),
        (("restore", "bad"), "restore-link", number, None),
        (("trash", "empty", "--yes"), "empty-trash", None, None),
        (("import", str(file)), "import-links", name, None),
    ):
        done = office.run(*command)
        assert done.returncode == 0, done.stderr
        entry = office.json("admin", "audit")["entries"][0]
        assert (entry["action"], entry["subject"], entry["via"]) == (act, subject, "cli")
        assert entry["details"].get("fields") == details
    before = office.acts()
    for harmless in (
        ("show", "bad"),
        ("edit", "bad"),
        ("edit", "nobody", "--title", "x"),
        ("import", "--dry-run", str(file)),
        ("import", "--workspace", "nowhere", str(file)),
    ):
        office.run(*harmless)
    assert office.acts() == before


def test_a_report_is_read_and_upheld(office):
    listed = office.run("admin", "reports")
    assert office.report in listed.stdout
    assert "phishing" in listed.stdout
    assert "https://evil.example/page" in listed.stdout
    assert f"kurz admin reports show {office.report}" in listed.stderr
    shown = office.run("admin", "reports", "show", office.report)
    assert "It asks for my PIN.\n" in shown.stdout
    assert "me@example.org" in shown.stdout
    assert "203.0.113.9" not in shown.stdout
    assert f"kurz admin reports uphold {office.report}" in shown.stderr
    upheld = office.run("admin", "reports", "uphold", office.report, "--ban-host")
    assert upheld.stdout == (
        "http://127.0.0.1:8080/bad is banned, and so is the host of its destination.\n"
    )
    assert office.run("show", "bad").stdout.count("banned") == 1
    refused = office.run("create", "https://www.evil.example/")
    assert (refused.returncode, refused.stderr.count("\n")) == (2, 1)
    assert office.run("admin", "reports").stderr == "There are no reports with the state “open”.\n"
    again = office.run("admin", "reports", "dismiss", office.report)
    assert (again.returncode, again.stderr) == (4, "kurz: This report was already upheld.\n")
    assert office.acts() == ["ban-host", "ban-link", "uphold-report"]
    bans = office.run("admin", "bans").stdout
    assert "evil.example" in bans
    assert "http://127.0.0.1:8080/bad" in bans


def test_a_person_is_banned_with_their_links_and_let_in_again(office):
    banned = office.run("admin", "ban", "person", EMAIL, "--reason", "spam")
    assert banned.stdout == f"{EMAIL} is banned, along with 1 link.\n"
    assert f"kurz admin unban person {EMAIL}" in banned.stderr
    assert "banned" in office.run("show", "bad").stdout
    assert EMAIL in office.run("admin", "bans").stdout
    back = office.run("admin", "unban", "person", EMAIL)
    assert back.stdout == f"{EMAIL} is no longer banned. 1 link was restored.\n"
    assert "active" in office.run("show", "bad").stdout
    log = office.run("admin", "audit").stdout
    assert "operator" in log
    assert "(reason: spam)" in log


def test_a_link_that_is_unbanned_waits_for_its_owner(office):
    office.run("admin", "ban", "link", "bad")
    office.run("admin", "ban", "person", EMAIL)
    waits = office.run("admin", "unban", "link", "bad").stdout
    assert waits == (
        "http://127.0.0.1:8080/bad stays banned because its owner is banned. It is restored when"
        " the owner is unbanned.\n"
    )
    assert "banned" in office.run("show", "bad").stdout
    office.run("admin", "unban", "person", EMAIL)
    assert "active" in office.run("show", "bad").stdout


def test_a_link_that_was_in_the_trash_is_there_again(office):
    office.run("delete", "bad")
    office.run("admin", "ban", "link", "bad")
    back = office.run("admin", "unban", "link", "bad").stdout
    assert back == (
        "http://127.0.0.1:8080/bad is back in the trash. Its time in the trash starts over.\n"
    )
    office.run("admin", "ban", "link", "bad")
    told = office.json("admin", "unban", "link", "bad")
    assert (told["was_banned"], told["is_banned"], told["is_in_trash"]) == (True, False, True)


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        (("reports", "show", "7"), 3, "There is no report with this number."),
        (("ban", "link", "nothing"), 3, "There is no link with this code."),
        (("ban", "host", "com"), 2, "Enter a full host name, such as example.com"),
        (("ban", "person", "nobody@example.com"), 3, "There is no account"),
        (("ban", "person", "admin@example.com"), 4, "This is the last administrator."),
    ],
)
def test_what_goes_wrong_is_told_in_one_line(office, arguments, code, sentence):
    done = office.run("admin", *arguments)
    assert (done.returncode, done.stdout) == (code, "")
    assert done.stderr.startswith(f"kurz: {sentence}")
    assert done.stderr.count("\n") == 1
