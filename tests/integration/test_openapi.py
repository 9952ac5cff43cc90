"""The server keeps to its OpenAPI document, whatever it is sent: schemathesis tries."""

import subprocess
import sys
from pathlib import Path

import pytest

from support.people import PASSWORD

SCHEMATHESIS = Path(sys.executable).with_name("schemathesis")
CHECKS = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_headers_conformance",
    "response_schema_conformance",
)
# These end the session that the others need, or take a quarter of a second of hashing each.
APART = (
    "delete_me",
    "sign_out",
    "change_password",
    "register",
    "sign_in",
    "set_up",
    "reset_password",
    "register_url_user",
    "login_url_user",
)

# These answer for as long as they are listened to.
STREAMS = tuple(
    f"listen_to_stats_of_{what}"
    for what in (
        "link",
        "link_in_workspace",
        "tag",
        "tag_in_workspace",
        "workspace",
        "me",
        "everything",
    )
)


def explore(program, tmp_path, *options: str) -> None:
    command = [
        str(SCHEMATHESIS),
        "run",
        f"{program.url}/api/openapi.json",
        "--header",
        f"Authorization: Bearer {program.set_up('ada@example.com', PASSWORD)}",
        "--checks",
        ",".join(CHECKS),
        "--continue-on-failure",
        "--no-shrink",
        "--no-color",
        "--generation-database=none",
        # Our token is sent with everything; made-up ones are tried in test_authorisation.
        "--generation-with-security-parameters=false",
        # A file of links is any text: the generator finds nothing that is none.
        "--suppress-health-check=filter_too_much",
        "--request-timeout=30",
        *options,
    ]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-10_000:] + done.stderr[-2000:]
    assert '"level": "error"' not in program.log()


def options_for(operations: tuple[str, ...], how: str) -> list[str]:
    return [f"--{how}-operation-id={name}" for name in operations]


@pytest.mark.timeout(300)
@pytest.mark.parametrize("engine", ["sqlite"], indirect=True)
def test_no_answer_contradicts_the_document(program, tmp_path):
    explore(program, tmp_path, "--max-examples=1", *options_for((*APART, *STREAMS), "exclude"))


@pytest.mark.long
@pytest.mark.timeout(300)
@pytest.mark.parametrize("engine", ["sqlite"], indirect=True)
def test_no_answer_about_passwords_contradicts_the_document(program, tmp_path):
    options = options_for(APART, "include")
    explore(program, tmp_path, "--max-examples=1", "--phases=examples,fuzzing", *options)


# The answers are made by the same code on every engine: many examples on one are enough.
many_examples = pytest.mark.parametrize(
    ("engine", "examples"), [("sqlite", 200), ("postgres+redis", 20)], indirect=["engine"]
)


@many_examples
@pytest.mark.long
@pytest.mark.timeout(7200)
def test_no_answer_contradicts_the_document_in_many_examples(program, examples, tmp_path):
    options = options_for((*APART, *STREAMS), "exclude")
    explore(program, tmp_path, f"--max-examples={examples}", *options)


@many_examples
@pytest.mark.long
@pytest.mark.timeout(7200)
def test_no_answer_about_passwords_contradicts_the_document_in_many_examples(
    program, examples, tmp_path
):
    explore(program, tmp_path, f"--max-examples={examples}", *options_for(APART, "include"))
