"""`make docs-run` follows a page as a reader does, and notices what does not work."""

import docs_run
import pytest

from support.docker_by_podman import command_for
from support.documents import blocks_of, commands_of
from support.reader import Failed, Reader

FOLLOWED = """
```console
$ printf 'HTTP/1.1 302 Found\\nlocation: https://example.com/\\n'
HTTP/1.1 302 Found
location: https://example.com/
```
"""


@pytest.fixture
def follow(tmp_path):
    """Follows a page, and gives the reader."""
    folder = tmp_path / "reader"
    folder.mkdir()

    def read(text: str) -> Reader:
        page = tmp_path / "page.md"
        page.write_text(text)
        variables, replace = {"PATH": "/usr/bin:/bin"}, {"/opt/kurz": str(folder)}
        reader = Reader(folder, variables, replace, print, start_seconds=20, again_seconds=0)
        try:
            reader.read(blocks_of(page))
            reader.stop()
        finally:
            reader.abandon()
        return reader

    return read


def test_variables_folders_and_values_are_kept_from_one_command_to_the_next(follow, tmp_path):
    page = """
```sh
mkdir made
cd made
export NAME="a b" \\
    OTHER=c
echo "$NAME-$OTHER" > /opt/kurz/file
```

```console
$ echo http://127.0.0.1:8080/abcdefg
http://127.0.0.1:8080/ytKrdeI
$ echo ytKrdeI > ../code
```
"""
    follow(page + FOLLOWED)
    assert (tmp_path / "reader" / "file").read_text() == "a b-c\n"
    assert (tmp_path / "reader" / "code").read_text() == "abcdefg\n"


@pytest.mark.parametrize(
    ("block", "why"),
    [
        ("```sh\nfalse\n```\n", "exit code 1"),
        ("```sh\nnone-of-these\n```\n", "exit code 127"),
        ("```console\n$ echo wrong\nright\n```\n", "right"),
        ("```console\n$ printf 'HTTP/1.1 404 Not Found\\n'\nHTTP/1.1 302 Found\n```\n", "404"),
    ],
)
def test_what_does_not_work_is_noticed(follow, block, why):
    with pytest.raises(Failed, match=why):
        follow(block + FOLLOWED)


@pytest.mark.parametrize(
    "end",
    [
        "",
        "```sh\necho HTTP/1.1 302\n```\n",
        "```sh\nprintf 'HTTP/1.1 404 Not Found\\nlocation: x\\n'\n```\n",
    ],
)
def test_a_page_has_to_end_with_a_followed_link(follow, end):
    with pytest.raises(Failed, match="does not end with a link"):
        follow(FOLLOWED * bool(end) + "```sh\ntrue\n```\n" + end)


def test_what_is_marked_is_not_run(follow):
    page = "<!-- not run: `false`: it fails -->\n```sh\nfalse now\ntrue\n```\n"
    page += "<!-- not run: all of it -->\n```sh\nfalse\nexit 3\n```\n"
    not_run = follow(page + FOLLOWED).not_run
    assert [(it.text, it.not_run) for it in not_run] == [
        ("false now", "it fails"),
        ("false", "all of it"),
        ("exit 3", "all of it"),
    ]


def test_a_note_has_to_be_about_a_command(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("<!-- not run: `true`: it works -->\n```sh\nfalse\n```\n")
    with pytest.raises(AssertionError, match="names no command"):
        commands_of(page)


SERVER = """
```console
$ sh -c 'trap "exit 0" INT; echo ready; while sleep 0.1; do :; done' kurz serve
ready
```
"""


def test_a_server_in_the_foreground_runs_until_ctrl_c(follow):
    assert follow(f"{SERVER}Press Ctrl+C.\n{FOLLOWED}").not_run == []
    with pytest.raises(Failed, match="exited with code 3"):
        follow(SERVER.replace("exit 0", "exit 3") + FOLLOWED)
    with pytest.raises(Failed, match="ready"):
        follow(SERVER.replace("echo ready;", "echo no; exit 1;") + FOLLOWED)


def test_a_reader_follows_each_alternative_on_its_own(tmp_path):
    page = tmp_path / "page.md"
    block = "```sh\necho {}\n```\n"
    chosen = "<!-- one of: {} -->\n"
    page.write_text(
        block.format("first")
        + "".join(chosen.format(it) + block.format(it) for it in ("pip", "uv"))
        + block.format("last")
    )
    blocks = blocks_of(page)
    assert docs_run.alternatives(blocks) == ["pip", "uv"]
    [_, *middle, _] = [
        command.text for block in docs_run.chosen(blocks, "uv") for command in block.commands
    ]
    assert middle == ["echo uv"]
    assert docs_run.alternatives(blocks[:1]) == [None]


def test_every_page_exists_and_has_commands():
    for name, page in docs_run.PAGES.items():
        assert len(commands_of(docs_run.GUIDES / page)) > 5, name


def test_podman_gets_no_option_that_it_may_not_obey(tmp_path):
    run = ["run", "--ulimit", "nofile=65536", "--rm", "--requires=other", "kurz"]
    assert command_for(tmp_path, run)[-2:] == ["--rm", "kurz"]
    assert "65536" not in " ".join(command_for(tmp_path, run))
    assert command_for(tmp_path, ["stop", "kurz"])[-2:] == ["stop", "kurz"]
    assert str(tmp_path / "docker") in " ".join(command_for(tmp_path, ["compose", "up"]))
