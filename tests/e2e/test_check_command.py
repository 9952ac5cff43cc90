"""`kurz check` by subprocess, with the server that does the work."""

from support.site import SITE

INSIDE = "127.8.0.1"


def make(terminal, host: str, port: int, code: str) -> None:
    made = terminal.run("create", f"http://{host}:{port}/", "--code", code)
    assert made.returncode == 0, made.stderr


def test_the_server_checks_and_the_result_is_waited_for(
    terminal, start_program, environment, tmp_path, site_port
):
    start_program(
        **environment,
        KURZ_DATA_DIR=str(tmp_path / "data"),
        KURZ_CHECK_NETWORKS=f"{SITE}/32",
        KURZ_CHECK_PORTS=str(site_port),
    )
    make(terminal, SITE, site_port, "here")
    make(terminal, INSIDE, site_port, "inside")
    done = terminal.run("check", "here")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0] == "✓ ok: the site answered with 200"
    shown = terminal.run("show", "here").stdout
    assert "destination" in shown
    assert "checked" in shown
    inside = terminal.json("check", "inside")
    assert inside["check"]["result"] == inside["destination_status"] == "not_checked"
    assert inside["check"]["reason"] == "not-public"
    for status, code in (("ok", "here"), ("not_checked", "inside")):
        listed = terminal.json("list", "--check", status)["links"]
        assert [link["short_code"] for link in listed] == [code]
    assert terminal.json("list", "--check", "broken")["total"] == 0


def test_without_a_server_there_is_no_result(terminal, site_port):
    make(terminal, SITE, site_port, "here")
    done = terminal.run("check", "here", "--wait", "1s")
    assert done.returncode == 69
    assert "No result yet" in done.stderr
    assert terminal.json("show", "here")["last_checked_at"] is None


def test_what_cannot_be_checked_is_said(terminal, environment, site_port):
    make(terminal, SITE, site_port, "here")
    terminal.run("edit", "here", "--pause")
    refused = terminal.run("check", "here")
    assert refused.returncode == 4
    assert "active" in refused.stderr
    assert terminal.run("check", "there").returncode == 3
