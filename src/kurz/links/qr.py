"""QR codes of short URLs."""

import io
import re
from typing import Literal

import segno

from kurz.links.errors import FieldRefused

MIN_SIZE, MAX_SIZE = 64, 2048  # pixels
MAX_MARGIN = 16  # modules
_COLOUR = re.compile(r"#[0-9a-fA-F]{6}")


def render(
    url: str,
    *,
    format: Literal["svg", "png"] = "svg",  # noqa: A002  the word of the API
    size: int = 512,
    margin: int = 4,
    error: Literal["L", "M", "Q", "H"] = "M",
    dark: str = "#000000",
    light: str = "#ffffff",
) -> bytes:
    """An image, at most `size` pixels wide: modules have whole pixels in PNG, so that they stay
    sharp. `margin` is the quiet zone in modules; `light` may be "transparent"."""
    _check(size, margin, dark, light)
    code = segno.make_qr(url, error=error, boost_error=False)
    modules = code.symbol_size(border=margin)[0]
    background = None if light == "transparent" else light
    out = io.BytesIO()
    if format == "svg":
        scale = size / modules
        code.save(out, kind="svg", scale=scale, border=margin, dark=dark, light=background)
    else:
        scale = max(1, size // modules)
        code.save(out, kind="png", scale=scale, border=margin, dark=dark, light=background)
    return out.getvalue()


def _check(size: int, margin: int, dark: str, light: str) -> None:
    if not MIN_SIZE <= size <= MAX_SIZE:
        raise FieldRefused(f"`size` is a number of pixels from {MIN_SIZE} to {MAX_SIZE}.")
    if not 0 <= margin <= MAX_MARGIN:
        raise FieldRefused(f"`margin` is a number of modules from 0 to {MAX_MARGIN}.")
    if not _COLOUR.fullmatch(dark):
        raise FieldRefused("`dark` is a colour such as #000000.")
    if light != "transparent" and not _COLOUR.fullmatch(light):
        raise FieldRefused("`light` is a colour such as #ffffff, or transparent.")
