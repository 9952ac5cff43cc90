"""Which credentials are accepted, how many, and where they may be sent."""

from kurz.people.access import Permission
from support.accounts import ME, bearer, cookie, everything


async def test_a_credential_that_does_not_fit_is_refused_never_ignored(client, people):
    person = await people.add()
    key = await people.key(person, Permission.LINKS_READ)
    token = person.token
    refused: list[list[tuple[str, str]]] = [
        [("authorization", f"Basic {token}")],
        [("authorization", "Basic YWRhQGV4YW1wbGUuY29tOmNvcnJlY3Q=")],
        [("authorization", token)],
        [("authorization", key)],
        [("authorization", "Bearer")],
        [("authorization", "Bearer ")],
        [("authorization", "")],
        [("authorization", f"Token {token}")],
        [("authorization", f"Bearer {token} {token}")],
        [("authorization", f"Bearer {token}, Bearer {token}")],
        [("authorization", f"Bearer: {token}")],
        [("x-api-key", token)],
        [("x-api-key", "")],
        [("x-api-key", f"Bearer {key}")],
        [("authorization", f"Bearer {token}"), ("authorization", f"Bearer {token}")],
        [("authorization", f"Bearer {token}"), ("x-api-key", key)],
        [("x-api-key", key), ("x-api-key", key)],
        [("authorization", "Bearer nonsense"), ("cookie", f"kurz={token}")],
        [("x-api-key", "kurz_nonsense"), ("cookie", f"kurz={token}")],
        [("cookie", "kurz=nonsense")],
        [("cookie", "kurz=")],
        [("cookie", f"__Host-kurz={token}")],
        [("cookie", f"KURZ={token}")],
        [("cookie", f"other={token}")],
    ]
    for headers in refused:
        answer = await client.get(ME, headers=headers)
        assert answer.status_code == 401, headers
        assert answer.headers["www-authenticate"] == "Bearer"
        assert answer.headers["content-type"] == "application/problem+json"
    accepted: list[list[tuple[str, str]]] = [
        [("authorization", f"Bearer {token}")],
        [("authorization", f"bearer {token}")],
        [("authorization", f"BEARER   {token}  ")],
        [("authorization", f"Bearer {key}")],
        [("x-api-key", key)],
        [("cookie", f"kurz={token}")],
        [("cookie", f"a=b; kurz={token}; c=d")],
        [("authorization", f"Bearer {token}"), ("cookie", "kurz=nonsense")],
    ]
    for headers in accepted:
        assert (await client.get(ME, headers=headers)).status_code == 200, headers


async def test_a_credential_in_the_address_opens_nothing(client, people):
    person = await people.add()
    key = await people.key(person, *Permission)
    for name in ("key", "api_key", "apikey", "x-api-key", "token", "access_token", "authorization"):
        for value in (key, person.token, f"Bearer {key}"):
            answer = await client.get(ME, params={name: value})
            assert answer.status_code == 401
    answer = await client.get(f"http://ada:{key}@kurz.test{ME}")
    assert answer.status_code == 401


async def test_a_refused_credential_is_not_treated_as_nobodys(client, kurz):
    """Else somebody whose token has ended would make an anonymous link and not notice."""
    before = await everything(kurz)
    body = {"original_url": "https://example.com/"}
    for headers in (bearer("nonsense"), {"x-api-key": "kurz_x"}, cookie("nonsense")):
        own = headers | {"origin": "http://kurz.test"}
        assert (await client.post("/api/v1/links", json=body, headers=own)).status_code == 401
    assert await everything(kurz) == before


async def test_a_bearer_beside_a_cookie_is_the_one_that_counts(client, people):
    one, other = await people.add(), await people.add()
    headers = one.headers | cookie(other.token)
    assert (await client.get(ME, headers=headers)).json()["id"] == one.id
    # No page of another site can add that header, so where it is, there is no forgery.
    body = {"name": "x", "scopes": ["links:read"]}
    made = await client.post("/api/v1/keys", json=body, headers=headers)
    assert made.status_code == 201
    keys = (await client.get("/api/v1/keys", headers=one.headers)).json()["keys"]
    assert [key["id"] for key in keys] == [made.json()["id"]]
