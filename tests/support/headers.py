"""The headers that every answer carries."""

import re

import httpx2

EVERY_PROBLEM = {"400", "401", "403", "404", "409", "410", "413", "415", "422", "429", "503"}
# Some operations that everybody may call, each with the problems it may answer.
OPERATIONS = {
    ("post", "/"): EVERY_PROBLEM,
    ("post", "/api/v1/links"): EVERY_PROBLEM,
    ("post", "/api/urls/public"): {"400", "401", "413", "415", "422", "429", "503"},
    ("get", "/healthz"): set(),
    ("get", "/readyz"): {"503"},
}


def policy(answer: httpx2.Response) -> dict[str, list[str]]:
    """The Content-Security-Policy as its directives."""
    directives = [item.split() for item in answer.headers["content-security-policy"].split(";")]
    names = [words[0] for words in directives]
    assert len(names) == len(set(names))
    return {words[0]: words[1:] for words in directives}


def check_headers(answer: httpx2.Response) -> None:
    """What every answer has, once each."""
    headers = answer.headers
    for name in (
        "x-content-type-options",
        "content-security-policy",
        "referrer-policy",
        "cross-origin-opener-policy",
    ):
        assert len(headers.get_list(name)) == 1, (name, answer.request.url)
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "strict-origin-when-cross-origin"
    assert headers["cross-origin-opener-policy"] == "same-origin"
    directives = policy(answer)
    for name in ("default-src", "frame-ancestors", "base-uri"):
        assert directives[name] == ["'none'"], (name, answer.request.url)
    forms = "'self'" if "<form" in answer.text else "'none'"
    assert directives["form-action"] == [forms], answer.request.url
    assert "'unsafe-inline'" not in directives.get("script-src", [])
    assert "'unsafe-eval'" not in answer.headers["content-security-policy"]
    assert "server" not in headers
    # What is neither logged nor worth a question has no number.
    if answer.status_code >= 500 or answer.request.url.path.startswith("/api"):
        assert re.fullmatch(r"[0-9a-f]{12}-[0-9a-f]+", headers["x-request-id"])
        assert len(headers.get_list("x-request-id")) == 1
