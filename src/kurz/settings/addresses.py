"""The addresses that kurz is reached under, according to the settings."""

from urllib.parse import urlsplit

from kurz.errors import SettingRefused
from kurz.settings.values import UNIX

LOOPBACK = ("localhost", "127.0.0.1", "::1")


def host_of(url: str) -> str:
    """A name is the same with or without a final dot."""
    return (urlsplit(url).hostname or "").removesuffix(".")


def check_addresses(base_url: str | None, dashboard_url: str | None, host: str) -> None:
    """Refuses a Unix socket without a base URL, and addresses that would mix short links and
    dashboard pages on one host."""
    if base_url is None and host.startswith(UNIX):
        raise SettingRefused(
            "KURZ_HOST is a Unix socket, which requires KURZ_BASE_URL. Set KURZ_BASE_URL to the"
            " public URL of the proxy in front of it."
        )
    if dashboard_url is None:
        return
    if base_url is None:
        raise SettingRefused(
            "KURZ_DASHBOARD_URL requires KURZ_BASE_URL. Set KURZ_BASE_URL to the address that"
            " short URLs start with."
        )
    if host_of(base_url) == host_of(dashboard_url):
        raise SettingRefused(
            "KURZ_DASHBOARD_URL and KURZ_BASE_URL must have different hosts; a different port"
            " is not enough. Remove KURZ_DASHBOARD_URL to serve the dashboard on the same host"
            " as short links."
        )
