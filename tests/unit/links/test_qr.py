"""QR codes can be read, in every form and colour that is allowed."""

import re
import struct
import xml.etree.ElementTree as ET
import zlib

import pytest
import segno
import zxingcpp

from kurz.links.errors import FieldRefused
from kurz.links.qr import print_out, render
from support.long_run import in_the_long_run

URL = "https://go.example.com/@team/aB3xK9z"
LONG = "https://go.example.com/" + "x" * 128


def pixels(png: bytes) -> tuple[int, bytes, bool]:
    """Width, a byte of grey a pixel, and whether light is transparent, of our one-bit pictures."""
    width, height, depth, kind = struct.unpack(">IIBB", png[16:26])
    assert (width, depth, kind) == (height, 1, 3)
    palette = png[png.index(b"PLTE") + 4 :][:6]
    start = png.index(b"IDAT")
    (size,) = struct.unpack(">I", png[start - 4 : start])
    raw = zlib.decompress(png[start + 4 : start + 4 + size])
    step = 1 + -(-width // 8)
    lines = [raw[y * step + 1 : (y + 1) * step] for y in range(height)]
    bits = "".join("".join(f"{byte:08b}" for byte in line)[:width] for line in lines)
    greys = [sum(palette[:3]) // 3, sum(palette[3:]) // 3]
    return width, bytes(greys[int(bit)] for bit in bits), b"tRNS" in png


def decoded(width: int, grey: bytes) -> str:
    image = memoryview(grey).cast("B", (width, width))
    found = zxingcpp.read_barcodes(image)
    assert len(found) == 1
    text: str = found[0].text
    return text


def svg_modules(svg: bytes) -> tuple[ET.Element, list[list[int]]]:
    """The picture's root, and its dark modules by the path that draws them."""
    root = ET.fromstring(svg)  # noqa: S314  our own
    side = int((root.get("viewBox") or "").split()[2])
    matrix = [[0] * side for _ in range(side)]
    path = root.findall("{*}path")[-1].get("d") or ""
    for x, y, length in re.findall(r"M(\d+) (\d+)h(\d+)v1h-\d+z", path):
        for offset in range(int(length)):
            matrix[int(y)][int(x) + offset] = 1
    return root, matrix


@pytest.mark.parametrize("url", [URL, LONG, "http://127.0.0.1:8080/a"])
@pytest.mark.parametrize("error", ["L", "M", "Q", "H"])
@pytest.mark.parametrize("size", [128, *in_the_long_run(512, 2048)])
def test_a_png_can_be_read_and_has_its_size(url, error, size):
    width, grey, _ = pixels(render(url, format="png", size=size, error=error))
    assert width == size
    assert decoded(width, grey) == url


@pytest.mark.parametrize(("dark", "light"), [("#102030", "#FFEEDD"), ("#b00000", "#ffffff")])
def test_colours_are_those_that_were_asked_for(dark, light):
    png = render(URL, format="png", dark=dark, light=light)
    assert png[png.index(b"PLTE") + 4 :][:6] == bytes.fromhex(light[1:] + dark[1:])
    assert decoded(*pixels(png)[:2]) == URL
    assert {path.get("fill") for path in svg_modules(render(URL, dark=dark, light=light))[0]} == {
        dark,
        light,
    }


def test_light_may_be_transparent():
    *picture, is_clear = pixels(render(URL, format="png", light="transparent"))
    assert is_clear
    assert decoded(*picture) == URL  # type: ignore[arg-type]
    root, _ = svg_modules(render(URL, light="transparent"))
    assert [path.get("fill") for path in root] == ["#000000"]


@pytest.mark.parametrize("margin", [0, 4, 16])
def test_an_svg_has_the_modules_of_the_code(margin):
    root, matrix = svg_modules(render(URL, margin=margin, size=300))
    assert (root.get("width"), root.get("height")) == ("300", "300")
    expected = segno.make_qr(URL, error="M", boost_error=False).matrix_iter(border=margin)
    assert matrix == [list(row) for row in expected]


def test_an_svg_can_be_read():
    _, matrix = svg_modules(render(URL))
    scale = 4
    rows = [bytes(255 * (1 - x) for x in row for _ in range(scale)) * scale for row in matrix]
    assert decoded(len(matrix) * scale, b"".join(rows)) == URL


def test_an_svg_has_nothing_of_the_url_and_nothing_that_runs():
    svg = render("https://example.com/\"/><script>alert('x')</script>").decode()
    assert {re.sub(r"{.*}", "", item.tag) for item in ET.fromstring(svg).iter()} == {"svg", "path"}  # noqa: S314
    assert "example" not in svg
    assert "style" not in svg


def test_a_code_in_text_can_be_read():
    halves = {"█": (255, 255), "▀": (255, 0), "▄": (0, 255), " ": (0, 0)}
    lines = print_out(URL).splitlines()
    rows = [bytes(halves[x][half] for x in line) for line in lines for half in (0, 1)]
    side, scale = len(lines[0]), 4
    assert len(rows) in (side, side + 1)
    big = [bytes(x for x in row for _ in range(scale)) * scale for row in rows[:side]]
    assert decoded(side * scale, b"".join(big)) == URL


@pytest.mark.parametrize(
    ("choice", "word"),
    [
        ({"format": "gif"}, "format"),
        ({"size": 63}, "size"),
        ({"size": 2049}, "size"),
        ({"margin": -1}, "margin"),
        ({"margin": 17}, "margin"),
        ({"error": "X"}, "error"),
        ({"error": "m"}, "error"),
        ({"dark": "red"}, "dark"),
        ({"dark": "transparent"}, "dark"),
        ({"dark": '#000000"'}, "dark"),
        ({"dark": "#000000\n"}, "dark"),
        ({"light": "#fff"}, "light"),
        ({"light": "url(#x)"}, "light"),
        ({"light": "#000000"}, "different colours"),
        ({"dark": "#ABCDEF", "light": "#abcdef"}, "different colours"),
        ({"format": "png", "size": 64, "margin": 16, "error": "H"}, "size"),
    ],
)
def test_what_cannot_be_drawn_is_refused(choice, word):
    with pytest.raises(FieldRefused, match=word):
        render(LONG, **choice)


def test_a_url_that_fits_no_code_is_refused():
    with pytest.raises(FieldRefused, match="too long"):
        render("https://example.com/" + "ü" * 3000)
