"""Pages of other origins use the API with a token or key, where a setting allows it."""

import pytest

from kurz.errors import SettingRefused
from kurz.settings.load import load

engine = pytest.fixture(params=["sqlite"])(lambda request: request.param)
APP = "https://app.example.com"
PREFLIGHT = {
    "origin": APP,
    "access-control-request-method": "POST",
    "access-control-request-headers": "authorization,content-type,idempotency-key",
}
# As browsers compare them.
NEEDED = {"authorization", "content-type", "x-api-key", "idempotency-key", "if-match"}
EXPOSED = {"etag", "location", "ratelimit", "ratelimit-policy", "retry-after"}
API = "/api/v1/links"
BODY = {"original_url": "https://example.com/"}


def words(value: str) -> set[str]:
    return {word.strip().lower() for word in value.split(",")}


@pytest.mark.parametrize("path", [API, "/api/urls", "/api/urls/public", "/api/v1/keys/1", "/api/x"])
@pytest.mark.parametrize("origins", [(APP, "http://localhost:3000"), ("*",)])
async def test_a_preflight_is_answered_with_204(connect, path, origins):
    client = await connect(allowed_origins=origins)
    answer = await client.options(path, headers=PREFLIGHT)
    assert (answer.status_code, answer.content) == (204, b"")
    allowed = "*" if origins == ("*",) else APP
    assert answer.headers.get_list("access-control-allow-origin") == [allowed]
    methods = words(answer.headers["access-control-allow-methods"])
    assert methods == {"get", "head", "post", "put", "patch", "delete"}
    assert words(answer.headers["access-control-allow-headers"]) >= NEEDED
    assert int(answer.headers["access-control-max-age"]) >= 600
    assert "access-control-allow-credentials" not in answer.headers
    assert "Origin" in answer.headers["vary"]


async def test_a_page_reads_answers_and_failures(connect, people):
    client = await connect(allowed_origins=(APP,), rate_limits="on")
    key = (await people.add()).headers
    made = await client.post(API, json=BODY, headers={"origin": APP, **key})
    refused = await client.post(API, json={}, headers={"origin": APP, **key})
    stranger = await client.get(API, headers={"origin": APP})
    for answer, status in ((made, 201), (refused, 422), (stranger, 401)):
        assert answer.status_code == status
        assert answer.headers["access-control-allow-origin"] == APP
        assert words(answer.headers["access-control-expose-headers"]) >= EXPOSED
        assert "access-control-allow-credentials" not in answer.headers
        assert "Origin" in answer.headers["vary"]


async def test_a_cookie_never_opens_anything_to_another_origin(connect, people):
    for origins in ((APP,), ("*",)):
        client = await connect(allowed_origins=origins)
        person = await people.add()
        session = {"origin": APP, "cookie": f"kurz={person.token}"}
        read = await client.get("/api/v1/me", headers=session)
        assert "access-control-allow-origin" not in read.headers
        written = await client.post(API, json=BODY, headers=session)
        assert written.status_code == 403
        assert "access-control-allow-origin" not in written.headers


@pytest.mark.parametrize(
    "origin", ["https://evil.example", "null", "http://app.example.com", f"{APP}:8443", f"{APP}/"]
)
async def test_other_pages_may_nothing(connect, people, origin):
    client = await connect(allowed_origins=(APP,))
    preflight = await client.options(API, headers={**PREFLIGHT, "origin": origin})
    assert preflight.status_code == 405
    listed = await client.get(API, headers={"origin": origin, **(await people.add()).headers})
    for answer in (preflight, listed):
        assert not [name for name in answer.headers if name.startswith("access-control")]
        assert "Origin" in answer.headers["vary"]


async def test_without_the_setting_nothing_is_allowed_and_nothing_said(client):
    preflight = await client.options(API, headers=PREFLIGHT)
    listed = await client.get(API, headers={"origin": APP})
    assert (preflight.status_code, listed.status_code) == (405, 401)
    for answer in (preflight, listed):
        assert not [name for name in answer.headers if name.startswith("access-control")]


async def test_only_the_api_is_for_pages(connect, add_link):
    client = await connect(allowed_origins=("*",))
    link = await add_link()
    for method, path in (("POST", "/"), ("GET", f"/{link.short_code}"), ("GET", "/healthz")):
        answer = await client.request(method, path, headers={"origin": APP}, content=b"x")
        assert "access-control-allow-origin" not in answer.headers, path


def test_origins_are_written_as_browsers_do(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    given = {"KURZ_ALLOWED_ORIGINS": "https://App.Example.com:443, http://localhost:3000"}
    assert load({}, given).settings.allowed_origins == (APP, "http://localhost:3000")
    assert load({}, {"KURZ_ALLOWED_ORIGINS": "*"}).settings.allowed_origins == ("*",)
    for bad in ("null", "*, https://a.example", "https://a.example/path", "a.example", ","):
        with pytest.raises(SettingRefused, match="KURZ_ALLOWED_ORIGINS must"):
            load({}, {"KURZ_ALLOWED_ORIGINS": bad})
