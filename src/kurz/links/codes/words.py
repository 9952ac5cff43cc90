"""Words that no code may be (kurz uses these paths itself) or contain (offensive words)."""

import re

# The first path segments that kurz answers itself. The list does not grow within a major version.
OWN_SEGMENTS = frozenset(
    {
        "app",
        "api",
        "assets",
        "healthz",
        "readyz",
        "metrics",
        "favicon.ico",
        "robots.txt",
        ".well-known",
        "rest",
        "v4",
        "yourls-api.php",
    }
)
# Words behind which people expect a page, or which a stranger could use to imitate one.
USUAL_WORDS = frozenset(
    {
        "about",
        "account",
        "admin",
        "dashboard",
        "docs",
        "help",
        "home",
        "index",
        "index.html",
        "kurz",
        "login",
        "logout",
        "register",
        "settings",
        "signin",
        "signup",
        "sitemap.xml",
        "static",
        "support",
        "www",
    }
)
RESERVED = OWN_SEGMENTS | USUAL_WORDS

_LEET = str.maketrans("013457", "oieast")
_LEET_L = str.maketrans("013457", "oleast")
_OFFENSIVE = re.compile(
    "anal|anus|arsch|bastard|bitch|bollock|chink|cock|coon|cunt|dick|dildo|fag|fick|fotze|fuck|hitler|"
    "hure|isis|jizz|kacke|kike|nazi|negro|nigg|nutte|paki|penis|piss|porn|pussy|rape|scheiss|semen|sex|"
    "shit|slut|spic|tits|twat|vagina|wank|whore|wichs"
)


def is_reserved(code: str) -> bool:
    """True for a reserved word in any letter case."""
    return code.lower() in RESERVED


def is_offensive(code: str) -> bool:
    """True if the code contains an offensive word, perhaps with digits for similar letters."""
    lower = code.lower()
    return bool(
        _OFFENSIVE.search(lower.translate(_LEET)) or _OFFENSIVE.search(lower.translate(_LEET_L))
    )
