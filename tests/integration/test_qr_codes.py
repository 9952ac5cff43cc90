"""QR codes of short URLs."""

import re
import struct
import zlib

import pytest
import zxingcpp

from support.engines import sqlite_first

engine = sqlite_first  # the contracts of links and of their store are tried on every engine

on_sqlite = pytest.mark.parametrize("engine", ["sqlite"], indirect=True)


def read_code(pixels: bytes, width: int) -> str:
    """What a reader of QR codes makes of grey pixels."""
    picture = memoryview(pixels).cast("B", (len(pixels) // width, width))
    [found] = zxingcpp.read_barcodes(picture)
    assert found.format == zxingcpp.BarcodeFormat.QRCode
    text: str = found.text
    return text


def read_svg(image: bytes, dark: str = "#000000") -> str:
    """Draws the runs of dark modules, 4 pixels a module."""
    text = image.decode()
    modules = int(re.search(r'viewBox="0 0 (\d+) \1"', text)[1])  # type: ignore[index]
    rows = [bytearray(b"\xff" * modules) for _ in range(modules)]
    drawn = re.search(rf'<path fill="{dark}" d="([^"]+)"', text)
    assert drawn is not None
    for x, y, length in re.findall(r"M(\d+) (\d+)h(\d+)v1h-\d+z", drawn[1]):
        for column in range(int(x), int(x) + int(length)):
            rows[int(y)][column] = 0
    large = [bytes(value for value in row for _ in range(4)) for row in rows for _ in range(4)]
    return read_code(b"".join(large), 4 * modules)


def read_png(image: bytes) -> tuple[str, int, int]:
    """What it says, its width and its height."""
    chunks: dict[bytes, bytes] = {}
    place = 8
    while place < len(image):
        (size,) = struct.unpack_from(">I", image, place)
        kind = image[place + 4 : place + 8]
        chunks[kind] = chunks.get(kind, b"") + image[place + 8 : place + 8 + size]
        place += 12 + size
    width, height, depth, colours = struct.unpack_from(">IIBB", chunks[b"IHDR"])
    assert (depth, colours) == (1, 3)
    palette = chunks[b"PLTE"]
    grey = [sum(palette[0:3]) // 3, sum(palette[3:6]) // 3]
    data = zlib.decompress(chunks[b"IDAT"])
    line = (width + 7) // 8 + 1
    pixels = bytes(
        grey[data[y * line + 1 + x // 8] >> (7 - x % 8) & 1]
        for y in range(height)
        for x in range(width)
    )
    return read_code(pixels, width), width, height


async def test_a_qr_code_says_the_short_url(place):
    link = await place.make()
    svg = await place.get(link, "/qr")
    assert svg.headers["content-type"] == "image/svg+xml"
    assert read_svg(svg.content) == link["short_url"]
    png = await place.get(link, "/qr?format=png&size=100")
    assert png.headers["content-type"] == "image/png"
    assert read_png(png.content) == (link["short_url"], 100, 100)


@on_sqlite
async def test_qr_codes_of_every_style_can_be_read(desk):
    link = await desk.make()
    for query in (
        "size=64",
        "size=200&error=L",
        "error=Q&margin=1&size=128",
        "error=H&margin=16&size=256",
        "dark=%23112233&light=%23ffeedd&size=128",
        "light=transparent&size=128",
    ):
        png = await desk.get(link, f"/qr?format=png&{query}")
        assert read_png(png.content)[0] == link["short_url"], query
        svg = await desk.get(link, f"/qr?format=svg&{query}")
        dark = "#112233" if "dark" in query else "#000000"
        if "margin=1&" not in query:
            assert read_svg(svg.content, dark) == link["short_url"], query


@on_sqlite
async def test_other_qr_styles_are_refused(desk):
    link = await desk.make()
    for query in (
        "format=gif",
        "size=63",
        "size=2049",
        "size=x",
        "margin=-1",
        "margin=17",
        "error=X",
        "dark=red",
        "dark=%23000",
        "dark=%23000000%22/%3E",
        "light=none",
        "url=https://evil.example",
        "dark=%23ffffff",
    ):
        assert (await desk.get(link, f"/qr?{query}")).status_code == 422, query
