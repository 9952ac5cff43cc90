"""The settings of pages: what browsers get, and what everyone may see."""

from dataclasses import dataclass

from kurz.settings import values

MAX_HSTS_SECONDS = 2 * 365 * 24 * 60 * 60


@dataclass(frozen=True, kw_only=True)
class WebSettings:
    allowed_origins: tuple[str, ...] = values.setting(
        (), values.origins, "Origins whose pages can use the API with a token or key; `*`: all."
    )
    hsts_seconds: int = values.setting(
        31_536_000,
        values.integer(0, MAX_HSTS_SECONDS),
        "Seconds that browsers use only HTTPS (HSTS), if the base URL is https; 0: off.",
    )
    public_stats: str = values.switch(
        "on", "`off`: the totals of the installation at /api/stats need a token or key."
    )
