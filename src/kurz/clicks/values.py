"""The values that are counted of a referrer and a language. Whatever does not look like one is not
known: ""."""

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
    """`de` or `de-AT`: the language, and the region if the tag names one. Scripts and all else that
    a tag may hold are left out."""
    match = _TAG.fullmatch(tag.lower())
    if match is None:
        return ""
    language, region = match.groups()
    return language.decode() + (f"-{region.decode().upper()}" if region else "")
