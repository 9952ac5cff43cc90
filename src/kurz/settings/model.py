"""Every setting: its type, its default and what it means."""

import dataclasses
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

from kurz.scheduling import Window
from kurz.settings import values
from kurz.settings.addresses import LOOPBACK, host_of
from kurz.settings.backup import BackupSettings
from kurz.settings.limits import LimitSettings
from kurz.settings.values import setting as _setting
from kurz.settings.web import WebSettings
from kurz.settings.workload import LoadSettings


class _InDataDir:
    """A path in the data folder."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, settings: "Settings", _: type) -> Path:
        return settings.data_dir / self._name


@dataclass(frozen=True, kw_only=True)
class Settings(LimitSettings, LoadSettings, WebSettings, BackupSettings):
    base_url: str | None = _setting(
        None, values.base_url, "Public address of kurz; short URLs start with it."
    )
    dashboard_url: str | None = _setting(
        None,
        values.base_url,
        "Address of the dashboard, if its host differs from that of short URLs.",
    )
    host: str = _setting(
        "127.0.0.1", values.host, "Address to listen on, or a Unix socket (unix:/path)."
    )
    port: int = _setting(8080, values.integer(0, 65535), "Port to listen on; 0: any free port.")
    workers: int = _setting(1, values.integer(1, 64), "Worker processes.")
    data_dir: Path = _setting(
        Path("kurz-data"),
        Path,
        "Folder of the embedded database, its backups and the click journal.",
    )
    database_url: str | None = _setting(
        None,
        values.database_url,
        "PostgreSQL database to use instead of the embedded database.",
        is_secret=True,
    )
    database_replica_urls: tuple[str, ...] = _setting(
        (),
        values.database_urls,
        "Replicas of that PostgreSQL database, for redirect lookups and lists.",
        is_secret=True,
    )
    database_lookup_milliseconds: int = _setting(
        250,
        values.integer(10, 60_000),
        "Time a visitor waits for PostgreSQL before 503, for a link that is not in memory.",
    )
    database_write_milliseconds: int = _setting(
        1000,
        values.integer(10, 60_000),
        "Maximum time of a write to PostgreSQL, or for SQLite's lock, before 503.",
    )
    database_connections: int = _setting(
        10, values.integer(3, 1000), "Maximum connections to PostgreSQL per process."
    )
    database_idle_connections: int = _setting(
        2,
        values.integer(1, 1000),
        "Connections to PostgreSQL per process that stay open when idle.",
    )
    redis_url: str | None = _setting(
        None,
        values.redis_url,
        "Redis or Valkey through which instances share rate limits, links and notifications.",
        is_secret=True,
    )
    secret: str | None = _setting(
        None,
        values.check_secret,
        "Key that signs tokens. If unset, kurz generates one in the file `secret` of the data"
        " folder.",
        is_secret=True,
    )
    secret_previous: str | None = _setting(
        None,
        values.check_secret,
        "Another secret whose tokens are accepted, while the secret is being changed.",
        is_secret=True,
    )
    admin_email: str | None = _setting(
        None, values.text, "First administrator, created at startup if there is none yet."
    )
    admin_password: str | None = _setting(
        None, values.text, "That administrator's password.", is_secret=True
    )
    root_workspace: str | None = _setting(
        None,
        values.slug,
        "Workspace whose links are at the root, instead of anonymous and personal links.",
    )
    trusted_proxies: tuple[str, ...] = _setting(
        ("127.0.0.1", "::1"),
        values.networks,
        "Proxies whose X-Forwarded-For and X-Forwarded-Proto are trusted.",
    )
    access: str = _setting(
        "public",
        values.choice("public", "private"),
        "`public`: anyone can create temporary links. `private`: creating links requires an"
        " account.",
    )
    code_strategy: str = _setting(
        "random", values.choice("random", "counter"), "How codes at the root are generated."
    )
    code_length: int = _setting(7, values.integer(4, 21), "Length of random and counter codes.")
    counter_scramble: str = _setting(
        "permutation",
        values.choice("permutation", "offset"),
        "How counter codes hide their order. `offset` hides nothing: codes are easy to enumerate.",
    )
    temporary_link_hours: int = _setting(
        8, values.integer(1, 8760), "Hours until anonymous links expire."
    )
    default_expiry_days: int = _setting(
        0, values.integer(0, 36500), "Default expiry of other links, in days; 0: never."
    )
    redirect_status: int = _setting(
        302,
        lambda value: int(values.choice("301", "302", "307", "308")(value)),
        "Default redirect status.",
    )
    links_per_month: int = _setting(
        0, values.integer(0, 10**12), "Links an account can create per month; 0 is unlimited."
    )
    rate_limits: str = values.switch("on", "`off`: no rate limits.")
    metrics: str = _setting(
        "private",
        values.choice("private", "public"),
        "`private`: /metrics needs an administrator or KURZ_METRICS_TOKEN. `public`: open to"
        " everyone.",
    )
    metrics_token: str | None = _setting(
        None, values.check_secret, "Bearer token for reading /metrics.", is_secret=True
    )
    fast_lane: str = values.switch(
        "on", "`off`: redirects go through the ASGI application instead, with the same answers."
    )
    hot_links: int = _setting(
        1_000_000, values.integer(1, 10**9), "Maximum number of links in memory, per worker."
    )
    hot_megabytes: int = _setting(
        512, values.integer(1, 10**6), "Maximum memory for links, per worker."
    )
    keep_alive_seconds: int = _setting(
        5, values.integer(1, 3600), "Seconds until an idle connection is closed."
    )
    max_connections: int = _setting(
        10_000,
        values.integer(16, 1_000_000),
        "Maximum connections per worker; lower if the limit of open files is lower.",
    )
    dns_servers: tuple[str, ...] = _setting(
        (),
        values.name_servers,
        "Name servers for custom domains and destination checks; the system's if unset.",
    )
    geoip_db: str = _setting(
        "built-in",
        values.text,
        "File with the countries of IP addresses, in MaxMind's format; `off`: no countries.",
    )
    click_event_days: int = _setting(
        90,
        values.integer(0, 3650),
        "Days that individual clicks are kept; daily counts are kept permanently.",
    )
    daily_breakdown_days: int = _setting(
        400,
        values.integer(0, 36_500),
        "Days that breakdowns are kept by day; later they are kept by month. 0: always by day.",
    )
    destination_checks: str = values.switch("on", "`off`: kurz never requests destinations.")
    check_networks: tuple[str, ...] = _setting(
        (),
        values.called_networks,
        "Private networks that destination checks may call.",
    )
    check_ports: tuple[int, ...] = _setting(
        (80, 443), values.ports, "Ports that destination checks can use."
    )
    blocklists: tuple[Path, ...] = _setting(
        (), values.paths, "Files of hosts and URLs that links cannot lead to."
    )
    allowlists: tuple[Path, ...] = _setting(
        (),
        values.paths,
        "Files of hosts and URLs that links can lead to, even if a blocklist has them.",
    )
    other_shorteners: str = _setting(
        "allow",
        values.choice("allow", "refuse"),
        "`refuse`: links cannot lead to other known URL shorteners.",
    )
    abuse_contact: str | None = _setting(
        None,
        values.contact,
        "Contact for links that were taken down: an e-mail address, a URL or a line of text.",
    )
    archive: str | None = _setting(
        None,
        values.archive,
        "Where links are archived before they are purged: a folder, or s3://bucket/prefix.",
    )
    archive_s3_endpoint: str | None = _setting(
        None, values.base_url, "Endpoint of the bucket; Amazon S3 if unset."
    )
    archive_s3_region: str = _setting("us-east-1", values.text, "Region of the bucket.")
    archive_s3_key_id: str | None = _setting(
        None, values.text, "Access key ID for the bucket.", is_secret=True
    )
    archive_s3_secret_key: str | None = _setting(
        None, values.text, "Secret access key for the bucket.", is_secret=True
    )
    reaper_enabled: str = values.switch("on", "`off`: the reaper only runs when someone starts it.")
    retention: str = _setting(
        "default",
        values.choice("default", "immediate", "buffered", "archival", "keep"),
        "How long expired and deleted links are kept, and what happens then.",
    )
    retention_temporary: timedelta | None = _setting(
        None,
        values.duration_or_never,
        "How long expired anonymous links are kept. If unset, KURZ_RETENTION decides.",
    )
    retention_permanent: timedelta | None = _setting(
        None, values.duration_or_never, "The same for expired links with an owner."
    )
    retention_swept: timedelta | None = _setting(
        None,
        values.duration_or_never,
        "How long links that the reaper moved to the trash stay there.",
    )
    retention_deleted: timedelta | None = _setting(
        None, values.duration_or_never, "How long links that users deleted stay in the trash."
    )
    code_quarantine: timedelta = _setting(
        timedelta(days=365),
        values.duration,
        "How long the code of a purged link stays reserved for its former owner.",
    )
    reaper_interval: timedelta | None = _setting(
        None, values.duration, "Time between runs of the reaper. If unset, KURZ_RETENTION decides."
    )
    reaper_first_after: timedelta = _setting(
        timedelta(minutes=1),
        values.duration,
        "Time from the start of a process to its first run of the reaper.",
    )
    reaper_at_least: timedelta = _setting(
        timedelta(minutes=10),
        values.duration,
        "Minimum time from the start of a run until another process starts one.",
    )
    reaper_at_most: timedelta = _setting(
        timedelta(minutes=14),
        values.duration,
        "Time after which another process takes over from one that died during a run.",
    )
    reaper_longest_run: timedelta = _setting(
        timedelta(minutes=5), values.duration, "Maximum duration of a run; the next one continues."
    )
    reaper_batch: int = _setting(
        1000, values.integer(1, 10_000), "Maximum number of links per transaction of the reaper."
    )
    reaper_pause: timedelta = _setting(
        timedelta(milliseconds=100),
        values.duration,
        "Pause between two transactions of the reaper.",
    )
    reaper_window: Window | None = _setting(
        None, values.window, "Time of day, in UTC, in which the reaper starts its runs."
    )
    log_level: str = _setting(
        "info",
        values.choice("debug", "info", "warning", "error"),
        "Lowest log level to print.",
    )
    log_format: str = _setting(
        "auto",
        values.choice("auto", "json", "text"),
        "`auto` is text on a terminal, JSON elsewhere.",
    )

    secret_path = _InDataDir("secret")
    database_path = _InDataDir("kurz.db")
    feed_dir = _InDataDir("feed")
    screening_dir = _InDataDir("screening")
    journal_dir = _InDataDir("journal")
    dropped_clicks_path = _InDataDir("dropped-clicks")
    backup_dir = _InDataDir("backups")
    proxy_note_path = _InDataDir("proxy-note")

    @property
    def is_local(self) -> bool:
        """True if, according to the settings, only people at this machine reach kurz."""
        addresses = [host_of(url) for url in (self.base_url, self.dashboard_url) if url]
        return all(host in LOOPBACK for host in addresses or [self.host])

    @property
    def is_embedded(self) -> bool:
        return self.database_url is None


def fields() -> tuple[dataclasses.Field[Any], ...]:
    """The limits come last, because there are many."""
    limits = {item.name for item in dataclasses.fields(LimitSettings)}
    return tuple(sorted(dataclasses.fields(Settings), key=lambda item: item.name in limits))
