"""What a newcomer does first, on the whole program and both engines."""

import time


def test_a_link_is_made_with_curl_and_followed(program):
    with program.client() as client:
        made = client.post("/", content="https://example.com/a/long/path?x=1")
        assert made.status_code == 201
        followed = client.get(made.text.strip())
    assert (followed.status_code, followed.headers["location"]) == (
        302,
        "https://example.com/a/long/path?x=1",
    )


def test_a_link_of_one_second_is_gone_after_it(program):
    with program.client() as client:
        body = {"original_url": "https://example.com/", "expires_in": 1}
        link = client.post("/api/v1/links", json=body).json()
        assert client.get(link["short_url"]).status_code == 302
        time.sleep(1.1)
        assert client.get(link["short_url"]).status_code == 410


def test_links_survive_a_restart(program):
    with program.client() as client:
        address = client.post("/", content="https://example.com/kept").text.strip()
    assert program.stop() == 0
    program.start()
    with program.client() as client:
        assert client.get(address).headers["location"] == "https://example.com/kept"


def test_the_start_says_where_and_how(program, engine):
    lines = program.output.splitlines()
    labels = ["kurz", "dashboard", "data" if engine == "sqlite" else "database", "access"]
    assert [line.split()[0] for line in lines] == [*labels, "set-up", "stop"]
    assert program.url in lines[0]
    assert ("kurz-data" if engine == "sqlite" else "PostgreSQL") in lines[2]
    assert "public" in lines[3]
