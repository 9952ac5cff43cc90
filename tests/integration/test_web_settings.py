"""Settings of what browsers are told and of what everybody may see."""

import pytest

engine = pytest.fixture(params=["sqlite"])(lambda request: request.param)
BASE = "https://go.example.com"
HSTS = "strict-transport-security"


async def test_browsers_are_told_to_use_https_where_the_base_url_has_it(
    connect, add_link, add_workspace, add_domain
):
    client = await connect(BASE, base_url=BASE)
    for path in ("/", "/app", "/api/v1/me", "/api/docs"):
        answer = await client.get(path, headers={"accept": "text/html"})
        assert answer.headers.get_list(HSTS) == ["max-age=31536000"], path
    await add_domain(
        "links.team.example", await add_workspace("team", root_url="https://a.example")
    )
    domain = await connect("https://links.team.example", base_url=BASE)
    assert HSTS not in (await domain.get("/")).headers  # its owner decides about it
    # The same from the lane, which knows nothing of it.
    assert HSTS not in (await client.get(f"/{(await add_link()).short_code}")).headers
    assert HSTS not in (await client.get("/healthz")).headers


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"base_url": "http://go.example.com"},
        {"base_url": BASE, "hsts_seconds": 0},
        {"base_url": BASE, "dashboard_url": "http://app.example.com"},
    ],
)
async def test_browsers_are_not_told_so_elsewhere(connect, changes):
    client = await connect(changes.get("base_url", "http://kurz.test"), **changes)
    assert HSTS not in (await client.get("/api/v1/me")).headers


async def test_numbers_of_the_installation_can_be_for_people_with_an_account(connect, people):
    assert (await (await connect()).get("/api/stats")).status_code == 200
    client = await connect(public_stats="off")
    assert (await client.get("/api/stats")).status_code == 401
    person = await people.add()
    assert (await client.get("/api/stats", headers=person.headers)).status_code == 200
    made = await client.post("/api/v1/links", json={"original_url": "https://example.com/"})
    assert made.status_code == 201
