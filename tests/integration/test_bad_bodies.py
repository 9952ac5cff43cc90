"""Bodies that are no JSON, or of another shape, type or size, get a problem and never a 500."""

import asyncio
import json
import re
from collections.abc import AsyncIterator

import pytest

from support.bad_input import (
    API,
    DIALECT,
    JSON,
    MAX_BODY,
    URL,
    body,
    check_problem,
    count_links,
    on_sqlite,
)
from support.engines import redis_in_the_long_run

engine = redis_in_the_long_run


def nested(depth: int, opening: bytes, closing: bytes) -> bytes:
    return body(tags=0).replace(b"0}", opening * depth + closing * depth + b"}")


# Bodies that are no JSON at all.
MALFORMED = {
    "empty": b"",
    "spaces": b"   ",
    "a word": b"hello",
    "a plain URL": URL.encode(),
    "a form": b"original_url=https%3A%2F%2Fexample.com%2F",
    "cut off": b'{"original_url": "https://exam',
    "two documents": body() + body(),
    "single quotes": b"{'original_url': 'https://example.com/'}",
    "trailing comma": b'{"original_url": "https://example.com/",}',
    "a comment": b'{"original_url": "https://example.com/" /* no */}',
    "invalid UTF-8 in a value": b'{"original_url": "https://example.com/\xff\xfe"}',
    "invalid UTF-8 in a key": b'{"original_url": "https://example.com/", "\xc3\x28": 1}',
    "overlong UTF-8": b'{"original_url": "https://example.com/\xc0\xaf"}',
    "a surrogate in UTF-8": b'{"original_url": "https://example.com/\xed\xa0\x80"}',
    "UTF-16": body().decode().encode("utf-16"),
    "a byte order mark": b"\xef\xbb\xbf" + body(),
    "a raw NUL": b'{"original_url": "https://example.com/\x00"}',
    "a raw line break": b'{"original_url": "https://example.com/\r\nx"}',
    "a lone high surrogate": b'{"original_url": "https://example.com/\\ud800"}',
    "a lone low surrogate": b'{"original_url": "https://example.com/\\udc00x"}',
    "surrogates the wrong way round": b'{"original_url": "https://example.com/\\udc00\\ud800"}',
    "a surrogate in a title": b'{"original_url": "https://example.com/", "title": "\\ud800"}',
    "a surrogate in a key": b'{"original_url": "https://example.com/", "\\ud800": 1}',
    "deep lists": nested(8000, b"[", b"]"),
    "deep objects": nested(2500, b'{"a":', b"}").replace(b":}", b":1}", 1),
    "brackets that never close": b"[" * 16_000,
    "a hexadecimal number": b'{"original_url": "https://example.com/", "expires_in": 0x10}',
    "a number with a plus": b'{"original_url": "https://example.com/", "expires_in": +1}',
    "a number of 10000 digits": body().replace(b"}", b', "expires_in": ' + b"9" * 10_000 + b"}"),
}
# JSON that is not what a create looks like.
SHAPES = {
    "a list": b"[]",
    "a list of URLs": json.dumps([URL]).encode(),
    "a text": json.dumps(URL).encode(),
    "a number": b"1",
    "null": b"null",
    "true": b"true",
    "nothing in it": b"{}",
}
REFUSED = SHAPES | {
    "an unknown field": body(colour="red"),
    "an empty key": body(**{"": 1}),
    "a key of another dialect": body(customCode="abc"),
    "a key with a NUL": body(**{"a\0b": 1}),
    "__proto__": body(__proto__={"a": 1}),
    "NaN": b'{"original_url": "https://example.com/", "expires_in": NaN}',
    "Infinity": b'{"original_url": "https://example.com/", "expires_in": Infinity}',
    "1e999": b'{"original_url": "https://example.com/", "expires_in": 1e999}',
    "a number of 4000 digits": body().replace(b"}", b', "expires_in": ' + b"9" * 4000 + b"}"),
}
WRONG_TYPES: dict[str, list[object]] = {
    "original_url": [None, 1, 1.5, True, [], {}, [URL], {"url": URL}],
    "custom_code": [1, True, [], {}],
    "strategy": ["", "best", "RANDOM", 1, [], {}],
    "starts_at": ["", "tomorrow", "2026-13-01T00:00:00Z", "2026-04-01", True, [], {}, 1e300],
    "expires_at": ["", "never", "2026-04-01T00:00:00", "99999-01-01T00:00:00Z", -1e300, [], {}],
    "expires_in": ["60", "", 1.5, True, False, [], {}, "PT1H"],
    "title": ["", "x" * 201, 1, True, [], {}, "a\0b", "a\x1bb", "a\x7fb", "a\x85b"],
    "tags": ["tag", 1, {}, [1], [None], [[]], [""], ["x" * 51], ["x"] * 21, ["a\0b"]],
    "notes": ["", "x" * 2001, 1, [], {}, "a\0b"],
    "redirect_status": [200, 303, 304, "301", True, [], {}, 10**30],
    "forward_query": ["true", 1, 0, "", [], {}, None],
    "max_clicks": [0, -1, 1.5, "3", True, [], {}, 2**53 + 1, 10**100],
}


@pytest.mark.parametrize("path", [API, DIALECT])
async def test_a_body_that_is_not_json_is_malformed(client, kurz, path):
    found = {}
    for name, content in MALFORMED.items():
        sent = content.replace(b"original_url", b"originalUrl") if path == DIALECT else content
        found[name] = check_problem(await client.post(path, content=sent, headers=JSON))
    assert found == dict.fromkeys(MALFORMED, (400, "body-malformed"))
    assert await count_links(kurz) == 0


@pytest.mark.parametrize("path", [API, DIALECT])
async def test_json_of_another_shape_is_refused(client, kurz, path):
    """The dialect ignores fields that it does not know."""
    sent = REFUSED if path == API else SHAPES
    found = {}
    for name, content in sent.items():
        found[name] = check_problem(await client.post(path, content=content, headers=JSON))
    expected = dict.fromkeys(sent, (422, "request-refused"))
    if path == API:
        expected["a number of 4000 digits"] = (422, "instant-refused")
    assert found == expected
    assert await count_links(kurz) == 0


async def test_a_field_of_the_wrong_type_is_named(client, kurz):
    for field, values in WRONG_TYPES.items():
        for value in values:
            content = json.dumps({"original_url": URL, field: value})
            answer = await client.post(API, content=content, headers=JSON)
            found = (field, value, *check_problem(answer))
            # What needs an account may be refused for that, before anybody looks at the value.
            expected = [(field, value, 422, "request-refused")]
            if field not in ("original_url", "expires_in"):
                expected.append((field, value, 401, "sign-in-required"))
            assert found in expected
            assert re.search(rf"`{field}[`.]", answer.json()["detail"])
    assert await count_links(kurz) == 0


async def test_refusals_do_not_repeat_what_was_sent(client):
    secret = "x9-not-to-be-repeated"
    for content in (body(title=[secret]), body(expires_in=secret), f"[{secret}]".encode()):
        answer = await client.post(API, content=content, headers=JSON)
        check_problem(answer)
        assert secret not in answer.text


async def test_the_last_of_doubled_keys_counts(client):
    content = b'{"original_url": "https://a.example/", "original_url": "https://b.example/"}'
    made = await client.post(API, content=content, headers=JSON)
    assert (made.status_code, made.json()["original_url"]) == (201, "https://b.example/")
    content = b'{"original_url": "https://a.example/", "original_url": "javascript:alert(1)"}'
    refused = await client.post(API, content=content, headers=JSON)
    assert check_problem(refused) == (422, "url-refused")


@on_sqlite
@pytest.mark.parametrize("content", [b"\xff\xfe", b"https://example.com/\xed\xa0\x80", b"\x80"])
async def test_text_that_is_not_utf8_is_refused(client, content):
    assert check_problem(await client.post("/", content=content)) == (422, "url-refused")


async def test_every_problem_is_explained_at_its_type(client, connect):
    private = await connect(access="private")
    based = await connect("http://other.example", base_url="https://go.example.com")
    answers = [
        await client.post(API, content=b"{", headers=JSON),
        await client.post(API, content=b"[]", headers=JSON),
        await client.post(API, content=body(), headers={"content-type": "text/html"}),
        await client.post(API, content=b"x" * (MAX_BODY + 1), headers=JSON),
        await client.post(API, content=body(expires_in=0), headers=JSON),
        await client.post(API, content=body(title="x"), headers=JSON),
        await client.post("/", content="ftp://example.com/"),
        await client.get("/api/nothing"),
        await client.get(API),
        await client.post("/abcdefg"),
        await client.get("/abcdefg"),
        await private.post("/", content=URL),
        await based.get("/abcdefg"),
    ]
    told, explained = [], []
    for answer in answers:
        check_problem(answer)
        problem = answer.json()
        told.append({name: problem[name] for name in ("type", "title", "status")})
        explanation = await client.get(problem["type"])
        assert explanation.status_code == 200
        explained.append(explanation.json())
    assert explained == told


@on_sqlite
async def test_a_body_of_the_greatest_size_is_read(client):
    content = body().ljust(MAX_BODY)
    assert (await client.post(API, content=content, headers=JSON)).status_code == 201
    assert (await client.post("/", content=URL.ljust(MAX_BODY))).status_code == 422


@pytest.mark.parametrize("path", ["/", API, DIALECT])
async def test_a_larger_body_is_refused_with_and_without_its_length(client, kurz, path):
    headers = JSON if path != "/" else {}

    async def in_pieces() -> AsyncIterator[bytes]:
        for _ in range(MAX_BODY // 1024):
            yield b" " * 1024
        yield b" "

    for content in (b" " * (MAX_BODY + 1), in_pieces()):
        answer = await client.post(path, content=content, headers=headers)
        assert check_problem(answer) == (413, "body-too-large")
        assert answer.headers["connection"] == "close"
    assert await count_links(kurz) == 0


@on_sqlite
async def test_an_endless_body_is_not_read_to_its_end(client):
    taken = 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal taken
        while taken < 1000:
            taken += 1
            yield b"x" * 1024

    answer = await client.post(API, content=endless(), headers=JSON)
    assert check_problem(answer) == (413, "body-too-large")
    assert taken <= MAX_BODY // 1024 + 2


@on_sqlite
@pytest.mark.parametrize(
    ("path", "headers"),
    [
        (API, {}),
        (API, {"content-type": ""}),
        (API, {"content-type": "text/plain"}),
        (API, {"content-type": "application/x-www-form-urlencoded"}),
        (API, {"content-type": "multipart/form-data; boundary=x"}),
        (API, {"content-type": "application/jsonp"}),
        (API, {"content-type": "text/plain; application/json"}),
        (API, {"content-type": "application/json", "content-encoding": "gzip"}),
        (API, {"content-type": "application/json", "content-encoding": "identity"}),
        (DIALECT, {"content-type": "text/plain"}),
        ("/", {"content-type": "application/json"}),
        ("/", {"content-type": "text/html"}),
        ("/", {"content-type": "text/plain", "content-encoding": "br"}),
        (API, {"content-type": "\xff"}),
    ],
)
async def test_a_body_of_another_type_is_refused(client, path, headers):
    headers = {name: value.encode("latin-1") for name, value in headers.items()}
    answer = await client.post(path, content=body(), headers=headers)
    assert check_problem(answer) == (415, "media-type-unsupported")


@on_sqlite
@pytest.mark.parametrize(
    "content_type", ["application/json", "Application/JSON", "application/json; charset=utf-8"]
)
async def test_json_by_any_spelling_is_read(client, content_type):
    answer = await client.post(API, content=body(), headers={"content-type": content_type})
    assert answer.status_code == 201


@on_sqlite
async def test_many_bad_requests_at_once_all_get_their_answer(client):
    contents = [*MALFORMED.values(), *REFUSED.values()] * 3
    answers = await asyncio.gather(
        *(client.post(API, content=content, headers=JSON) for content in contents)
    )
    assert {check_problem(answer)[0] for answer in answers} == {400, 422}
