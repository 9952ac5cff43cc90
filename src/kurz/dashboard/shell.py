"""The page that the whole dashboard starts with: empty, and filled by its scripts."""

from dataclasses import dataclass
from html import escape

from kurz.dashboard.build import Files

HOME = "src/home/main.tsx"
APP = "src/app/main.tsx"
EARLY = "src/early.ts"

_NONCE = "{nonce}"
_BASE_URL = "{base_url}"
_SET_UP = "{set_up}"
# Styles: the files, and elements that Mantine creates, which carry the nonce. HTML from text is
# created only by our rule (web/src/early.ts), which lets nothing through that could become an
# element.
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'nonce-{nonce}'; connect-src 'self';"
    " img-src 'self' data: blob:; require-trusted-types-for 'script'; trusted-types default;"
    " base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_NO_SCRIPT = (
    "<noscript><p>This page needs JavaScript. Or use a terminal:</p>"
    f"<pre>curl -d https://example.com/a/long/address {_BASE_URL}</pre></noscript>"
)


@dataclass(frozen=True, slots=True)
class Facts:
    """What the scripts need to know of this installation before their first request."""

    allows_anonymous: bool
    allows_sign_up: bool
    temporary_hours: int


class Shell:
    """One page with the files of an entry."""

    def __init__(self, files: Files, entry: str, facts: Facts) -> None:
        early, main = files.entry(EARLY), files.entry(entry)
        lines = [
            "<!doctype html>",
            '<html lang="en">',
            "<head>",
            '<meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            *(['<meta name="robots" content="noindex">'] if entry == APP else []),
            '<meta name="color-scheme" content="light dark">',
            '<meta name="description" content="Paste a long URL and get a short link.">',
            f'<meta property="csp-nonce" nonce="{_NONCE}">',
            *(f'<meta name="kurz-{name}" content="{value}">' for name, value in _told(facts)),
            "<title>kurz</title>",
            '<link rel="icon" href="/favicon.ico">',
            f'<script src="{early.script}"></script>',
            *(f'<link rel="stylesheet" href="{style}">' for style in main.styles),
            *(f'<link rel="modulepreload" href="{path}">' for path in main.imports),
            f'<script type="module" src="{main.script}"></script>',
            "</head>",
            "<body>",
            '<div id="root"></div>',
            _NO_SCRIPT,
            "</body>",
            "</html>",
            "",
        ]
        self._html = "\n".join(lines)

    def render(
        self, nonce: str, base_url: str, *, needs_set_up: bool = False
    ) -> tuple[bytes, bytes]:
        """The page, and its policy."""
        html = self._html.replace(_NONCE, nonce).replace(_BASE_URL, escape(base_url))
        html = html.replace(_SET_UP, "needed" if needs_set_up else "done")
        return html.encode(), _POLICY.replace(_NONCE, nonce).encode()


def _told(facts: Facts) -> list[tuple[str, str]]:
    return [
        ("links", "open" if facts.allows_anonymous else "closed"),
        ("sign-up", "open" if facts.allows_sign_up else "closed"),
        ("temporary-hours", str(facts.temporary_hours)),
        ("base-url", _BASE_URL),
        ("set-up", _SET_UP),
    ]
