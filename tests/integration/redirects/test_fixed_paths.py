"""The front page, fixed files and reserved words."""

import sqlalchemy as sa

from kurz.redirect.app import FAVICON
from kurz.storage.schema.links import links
from support.redirects import BASE, MISSING, PAGE, PROGRAM, URL, check_dead, look, on_sqlite


async def test_the_few_fixed_files_are_there(client):
    robots = (await look(client, "/robots.txt"))[0]
    assert robots.headers["content-type"] == "text/plain; charset=utf-8"
    assert robots.text.startswith("User-agent: *\n")
    assert "Disallow: /api/" in robots.text
    favicon = (await look(client, "/favicon.ico"))[0]
    assert (favicon.headers["content-type"], favicon.content) == ("image/x-icon", FAVICON)
    assert FAVICON.startswith(b"\0\0\1\0")
    for answer in (robots, favicon):
        assert answer.headers["cache-control"] == "public, max-age=86400"


@on_sqlite
async def test_a_reserved_word_is_never_looked_up(client, kurz, add_link):
    await add_link(URL, custom_code="abc-def")
    for word in ("login", "APP", "Metrics", "v4"):

        def shadow(connection: sa.Connection, word: str = word) -> None:
            connection.execute(sa.update(links).values(short_code=word))

        await kurz.database.write(shadow)
        await check_dead(client, f"/{word}", *MISSING)


async def test_the_front_page_shows_how_to_make_a_link(connect):
    client = await connect(BASE, base_url=BASE)
    for accept in (PROGRAM, PAGE):  # a browser's has a nonce, which no two answers share
        answer = await client.get("/", headers=accept)
        assert answer.status_code == 200
        assert answer.headers["content-type"] == "text/html; charset=utf-8"
        assert BASE in answer.text
