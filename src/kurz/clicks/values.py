"""The counted values of a referrer and a language. Anything invalid is unknown: ""."""

import re

_HOST = re.compile(
    rb"[a-z][a-z0-9+.-]*://(?:www\.(?=[^:]*\.))?([a-z0-9._~-]+?|\[[0-9a-f:.]+\])\.?(?::[0-9]+)?"
)
_TAG = re.compile(rb"([a-z]{2,3})(?:-[a-z]{4})?(?:-([a-z]{2}|[0-9]{3}))?(?:-[a-z0-9-]*)?")


def host_of(origin: bytes) -> str:
    """The host of `scheme://host[:port]`, without a leading "www."."""
    match = _HOST.fullmatch(origin.lower())
    return match[1].decode() if match else ""


def locale_of(tag: bytes) -> str:
    """`de` or `de-AT`: the language, and the region if the tag names one. Scripts and all other
    parts of a tag are left out."""
    match = _TAG.fullmatch(tag.lower())
    if match is None:
        return ""
    language, region = match.groups()
    return language.decode() + (f"-{region.decode().upper()}" if region else "")
