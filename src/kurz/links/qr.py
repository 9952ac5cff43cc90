"""QR codes of short URLs."""

import re
import struct
import zlib
from enum import StrEnum

import segno

from kurz.links.errors import FieldRefused

SMALLEST, LARGEST, SIZE = 64, 2048, 512  # pixels
WIDEST_MARGIN, MARGIN = 16, 4  # modules; the standard requires four on each side
TRANSPARENT = "transparent"
LEVELS = ("L", "M", "Q", "H")  # how much of the picture may be unreadable: 7, 15, 25 or 30 %
_COLOUR = re.compile(r"#[0-9a-fA-F]{6}")
_DARK_RUN = re.compile(b"\x01+")
_DIGITS = bytes.maketrans(b"\0\x01", b"01")


class Picture(StrEnum):
    SVG = "svg"
    PNG = "png"


def render(
    url: str,
    *,
    format: str = Picture.SVG,  # noqa: A002  the word of the product
    size: int = SIZE,
    margin: int = MARGIN,
    error: str = "M",
    dark: str = "#000000",
    light: str = "#ffffff",
) -> bytes:
    """The picture of a URL, `size` pixels wide and high, or `FieldRefused`."""
    if format not in list(Picture):
        raise FieldRefused("`format` must be svg or png.", field="format")
    if not SMALLEST <= size <= LARGEST:
        raise FieldRefused(
            f"`size` must be a number of pixels from {SMALLEST} to {LARGEST}.", field="size"
        )
    _check_colours(dark, light)
    code = _code(url, margin, error)
    if format == Picture.SVG:
        return _svg(code, margin, size, dark, light)
    return _png(code, margin, size, dark, light)


def print_out(url: str, *, margin: int = MARGIN, error: str = "M") -> str:
    """The picture as text, two modules per character, for dark and light terminals."""
    rows = [list(row) for row in _code(url, margin, error).matrix_iter(border=margin)]
    if len(rows) % 2:
        rows.append([0] * len(rows[0]))
    pairs = zip(rows[::2], rows[1::2], strict=True)
    return "".join(
        "".join(_HALVES[upper, lower] for upper, lower in zip(*pair, strict=True)) + "\n"
        for pair in pairs
    )


# Readers expect dark on light, so on a dark terminal the light modules are printed.
_HALVES = {(0, 0): "█", (0, 1): "▀", (1, 0): "▄", (1, 1): " "}


def _code(url: str, margin: int, error: str) -> segno.QRCode:
    if not 0 <= margin <= WIDEST_MARGIN:
        raise FieldRefused(
            f"`margin` must be a number of modules from 0 to {WIDEST_MARGIN}.", field="margin"
        )
    if error not in LEVELS:
        raise FieldRefused("`error` must be L, M, Q or H.", field="error")
    try:
        # Exactly the requested level: a higher one, even at no cost, would be a surprise.
        return segno.make_qr(url, error=error, boost_error=False)
    except segno.DataOverflowError:
        raise FieldRefused("This URL is too long for a QR code.", field=None) from None


def _check_colours(dark: str, light: str) -> None:
    if not _COLOUR.fullmatch(dark):
        raise FieldRefused("`dark` must be a colour such as #1a2b3c.", field="dark")
    if light != TRANSPARENT and not _COLOUR.fullmatch(light):
        raise FieldRefused(
            "`light` must be a colour such as #1a2b3c, or transparent.", field="light"
        )
    if dark.lower() == light.lower():
        raise FieldRefused("`dark` and `light` must be different colours.", field="light")


def _svg(code: segno.QRCode, margin: int, size: int, dark: str, light: str) -> bytes:
    """Made only of numbers and checked colours: it does not contain the URL."""
    modules = len(code.matrix) + 2 * margin
    path = "".join(
        f"M{found.start() + margin} {y + margin}h{len(found[0])}v1h-{len(found[0])}z"
        for y, row in enumerate(code.matrix)
        for found in _DARK_RUN.finditer(row)
    )
    is_clear = light == TRANSPARENT
    back = "" if is_clear else f'<path fill="{light}" d="M0 0h{modules}v{modules}H0z"/>'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{size}" height="{size}"'
        f' viewBox="0 0 {modules} {modules}" shape-rendering="crispEdges">'
        f'{back}<path fill="{dark}" d="{path}"/></svg>\n'
    ).encode()


def _png(code: segno.QRCode, margin: int, size: int, dark: str, light: str) -> bytes:
    """One bit per pixel. Modules are whole pixels; the remaining pixels widen the margin."""
    modules = len(code.matrix) + 2 * margin
    scale = size // modules
    if not scale:
        raise FieldRefused(
            f"`size` is too small: this QR code needs at least {modules} pixels.", field="size"
        )
    before = (size - len(code.matrix) * scale) // 2
    empty = _png_line(b"", size)
    lines = [empty] * before
    for row in code.matrix:
        pixels = b"".join(bytes([module]) * scale for module in row)
        lines += [_png_line(bytes(before) + pixels, size)] * scale
    lines += [empty] * (size - len(lines))
    is_clear = light == TRANSPARENT
    palette = bytes.fromhex((f"#{'f' * 6}" if is_clear else light)[1:] + dark[1:])
    return b"".join(
        (
            b"\x89PNG\r\n\x1a\n",
            _png_chunk(b"IHDR", struct.pack(">IIBBBBB", size, size, 1, 3, 0, 0, 0)),
            _png_chunk(b"PLTE", palette),
            _png_chunk(b"tRNS", b"\x00") if is_clear else b"",
            _png_chunk(b"IDAT", zlib.compress(b"".join(lines))),
            _png_chunk(b"IEND", b""),
        )
    )


def _png_line(pixels: bytes, size: int) -> bytes:
    """Pixels of 0 and 1 as bits, after the number of the filter (none)."""
    width = -(-size // 8) * 8
    bits = int(pixels.ljust(width, b"\0").translate(_DIGITS), 2)
    return b"\0" + bits.to_bytes(width // 8)


def _png_chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
