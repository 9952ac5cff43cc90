"""The only reader of the environment. A setting comes from a flag, then `KURZ_NAME`, then the file
named by `KURZ_NAME_FILE`, then `kurz.toml`, then its default."""

import dataclasses
import difflib
import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

from kurz import setting_values as values
from kurz.addresses import LOOPBACK, check_addresses, host_of
from kurz.errors import SettingRefused
from kurz.scheduling import Window
from kurz.setting_limits import LimitSettings
from kurz.setting_load import LoadSettings
from kurz.setting_values import setting as _setting
from kurz.setting_web import WebSettings

PREFIX = "KURZ_"
CONFIG_FILE = "kurz.toml"


@dataclass(frozen=True, kw_only=True)
class Settings(LimitSettings, LoadSettings, WebSettings):
    base_url: str | None = _setting(
        None, values.base_url, "Address people reach kurz under; short URLs start with it."
    )
    dashboard_url: str | None = _setting(
        None,
        values.base_url,
        "Address of the dashboard, where that has another host than short URLs.",
    )
    host: str = _setting("127.0.0.1", values.text, "Address to listen on.")
    port: int = _setting(8080, values.integer(0, 65535), "Port to listen on; 0 takes a free one.")
    workers: int = _setting(1, values.integer(1, 64), "Processes that answer requests.")
    data_dir: Path = _setting(
        Path("kurz-data"),
        Path,
        "Folder of the embedded database, its backups and the journal of clicks.",
    )
    database_url: str | None = _setting(
        None,
        values.database_url,
        "PostgreSQL to use instead of the embedded database.",
        is_secret=True,
    )
    database_replica_urls: tuple[str, ...] = _setting(
        (),
        values.database_urls,
        "Replicas of that PostgreSQL, for look-ups of redirects and for lists.",
        is_secret=True,
    )
    database_look_up_milliseconds: int = _setting(
        250,
        values.integer(10, 60_000),
        "How long a visitor waits for PostgreSQL before 503, for a link that is not in memory.",
    )
    database_write_milliseconds: int = _setting(
        1000, values.integer(10, 60_000), "How long a write to PostgreSQL may take before 503."
    )
    database_connections: int = _setting(
        10, values.integer(3, 1000), "Connections to PostgreSQL that each process holds at most."
    )
    database_idle_connections: int = _setting(
        2, values.integer(1, 1000), "How many of these stay open when idle."
    )
    redis_url: str | None = _setting(
        None,
        values.redis_url,
        "Redis or Valkey that instances share rate limits, links and wake-ups through.",
        is_secret=True,
    )
    secret: str | None = _setting(
        None,
        values.check_secret,
        "What tokens are signed with. None: made once, in the file `secret` of the data folder.",
        is_secret=True,
    )
    admin_email: str | None = _setting(
        None, values.text, "First administrator, made at the start if there is none yet."
    )
    admin_password: str | None = _setting(
        None, values.text, "That administrator's password.", is_secret=True
    )
    root_workspace: str | None = _setting(
        None,
        values.slug,
        "Workspace whose links stand at the root; then there are no other links there.",
    )
    trusted_proxies: tuple[str, ...] = _setting(
        ("127.0.0.1", "::1"),
        values.networks,
        "Proxies whose X-Forwarded-For and X-Forwarded-Proto are believed.",
    )
    access: str = _setting(
        "public",
        values.choice("public", "private"),
        "`public`: anybody may make temporary links. `private`: nobody without an account may.",
    )
    code_strategy: str = _setting(
        "random", values.choice("random", "counter"), "How codes at the root are made."
    )
    code_length: int = _setting(7, values.integer(4, 21), "Characters of a random or counted code.")
    counter_scramble: str = _setting(
        "permutation",
        values.choice("permutation", "offset"),
        "How counted codes hide their order. `offset` hides nothing: its codes can be walked.",
    )
    temporary_link_hours: int = _setting(
        8, values.integer(1, 8760), "Hours that an anonymous link lives."
    )
    default_expiry_days: int = _setting(
        0, values.integer(0, 36500), "Days that other links live by default; 0 is for ever."
    )
    redirect_status: int = _setting(
        302,
        lambda value: int(values.choice("301", "302", "307", "308")(value)),
        "Status of a redirect.",
    )
    links_per_month: int = _setting(
        0, values.integer(0, 10**12), "Links that a person may make in a month; 0 is unlimited."
    )
    rate_limits: str = _setting(
        "on", values.choice("on", "off"), "`off`: nobody is slowed down, whatever they do."
    )
    metrics: str = _setting(
        "private",
        values.choice("private", "public"),
        "`private`: /metrics needs an administrator, or KURZ_METRICS_TOKEN. `public`: nobody asks.",
    )
    metrics_token: str | None = _setting(
        None, values.check_secret, "What a program that reads /metrics has to know.", is_secret=True
    )
    fast_lane: str = _setting(
        "on",
        values.choice("on", "off"),
        "`off`: redirects take the long way through the application, with the same answers.",
    )
    hot_links: int = _setting(
        1_000_000, values.integer(1, 10**9), "Links that each worker keeps in memory at most."
    )
    hot_megabytes: int = _setting(
        512, values.integer(1, 10**6), "Memory that each worker keeps links in at most."
    )
    keep_alive_seconds: int = _setting(
        5, values.integer(1, 3600), "Seconds that an idle connection is kept open."
    )
    max_connections: int = _setting(
        10_000,
        values.integer(16, 1_000_000),
        "Connections that a worker holds at most; fewer if its limit of open files is lower.",
    )
    dns_servers: tuple[str, ...] = _setting(
        (),
        values.name_servers,
        "Name servers for custom domains and checks of links; none: the system's.",
    )
    geoip_db: str = _setting(
        "built-in",
        values.text,
        "File that tells the countries of visitors, in MaxMind's format; `off`: none is known.",
    )
    click_event_days: int = _setting(
        90, values.integer(0, 3650), "Days that every single click is kept; counts stay for ever."
    )
    destination_checks: str = _setting(
        "on", values.choice("on", "off"), "`off`: kurz never calls where links lead."
    )
    check_networks: tuple[str, ...] = _setting(
        (),
        values.called_networks,
        "Networks that are not public, but may be called to check links that lead there.",
    )
    check_ports: tuple[int, ...] = _setting(
        (80, 443), values.ports, "Ports that are called to check links."
    )
    blocklists: tuple[Path, ...] = _setting(
        (), values.paths, "Files of hosts and URLs that no link may lead to."
    )
    allowlists: tuple[Path, ...] = _setting(
        (), values.paths, "Files of hosts and URLs that links may lead to all the same."
    )
    other_shorteners: str = _setting(
        "allow",
        values.choice("allow", "refuse"),
        "`refuse`: no link may lead to another shortener that kurz knows.",
    )
    abuse_contact: str | None = _setting(
        None,
        values.contact,
        "Whom to ask about links that were taken down: an e-mail address, a URL or a line of text.",
    )
    archive: str | None = _setting(
        None,
        values.archive,
        "Where links are archived before they are purged: a folder, or s3://bucket/prefix.",
    )
    archive_s3_endpoint: str | None = _setting(
        None, values.base_url, "Address of the bucket's server; none: Amazon's."
    )
    archive_s3_region: str = _setting("us-east-1", values.text, "Region of the bucket.")
    archive_s3_key_id: str | None = _setting(
        None, values.text, "Name of the key to the bucket.", is_secret=True
    )
    archive_s3_secret_key: str | None = _setting(
        None, values.text, "The key to the bucket itself.", is_secret=True
    )
    reaper_enabled: str = _setting(
        "on",
        values.choice("on", "off"),
        "`off`: the reaper ends no links, unless somebody tells it to run.",
    )
    retention: str = _setting(
        "default",
        values.choice("default", "immediate", "buffered", "archival", "keep"),
        "How long links stay that have ended, and what becomes of them.",
    )
    retention_temporary: timedelta | None = _setting(
        None,
        values.duration_or_never,
        "How long anonymous links stay when they have expired. None: as KURZ_RETENTION has it.",
    )
    retention_permanent: timedelta | None = _setting(
        None, values.duration_or_never, "The same for links that are somebody's."
    )
    retention_swept: timedelta | None = _setting(
        None, values.duration_or_never, "How long those stay in the trash that the reaper moved."
    )
    retention_deleted: timedelta | None = _setting(
        None, values.duration_or_never, "How long those stay in the trash that people deleted."
    )
    code_quarantine: timedelta = _setting(
        timedelta(days=365),
        values.duration,
        "How long the code of a purged link is given to nobody but its former owner.",
    )
    reaper_interval: timedelta | None = _setting(
        None, values.duration, "From run to run of the reaper. None: as KURZ_RETENTION has it."
    )
    reaper_first_after: timedelta = _setting(
        timedelta(minutes=1), values.duration, "From the start of a process to its first run."
    )
    reaper_at_least: timedelta = _setting(
        timedelta(minutes=10), values.duration, "How long other processes leave it alone after one."
    )
    reaper_at_most: timedelta = _setting(
        timedelta(minutes=14),
        values.duration,
        "When another process takes over from one that died while it ran.",
    )
    reaper_longest_run: timedelta = _setting(
        timedelta(minutes=5), values.duration, "When a run ends; the next one goes on."
    )
    reaper_batch: int = _setting(
        1000, values.integer(1, 10_000), "Links that it deals with in one transaction at most."
    )
    reaper_pause: timedelta = _setting(
        timedelta(milliseconds=100), values.duration, "Between two of its transactions."
    )
    reaper_window: Window | None = _setting(
        None, values.window, "The part of the day, in UTC, that it begins its runs in."
    )
    log_level: str = _setting(
        "info",
        values.choice("debug", "info", "warning", "error"),
        "Least important log line to print.",
    )
    log_format: str = _setting(
        "auto",
        values.choice("auto", "json", "text"),
        "`auto` is text on a terminal, JSON elsewhere.",
    )

    @property
    def secret_path(self) -> Path:
        return self.data_dir / "secret"

    @property
    def is_local(self) -> bool:
        """True where only people at this machine reach kurz, as far as the settings tell."""
        addresses = [host_of(url) for url in (self.base_url, self.dashboard_url) if url]
        return all(host in LOOPBACK for host in addresses or [self.host])

    @property
    def is_embedded(self) -> bool:
        return self.database_url is None

    @property
    def database_path(self) -> Path:
        return self.data_dir / "kurz.db"

    @property
    def feed_dir(self) -> Path:
        return self.data_dir / "feed"

    @property
    def screening_dir(self) -> Path:
        return self.data_dir / "screening"

    @property
    def journal_dir(self) -> Path:
        return self.data_dir / "journal"

    @property
    def dropped_clicks_path(self) -> Path:
        return self.data_dir / "dropped-clicks"

    @property
    def backup_dir(self) -> Path:
        return self.data_dir / "backups"


@dataclass(frozen=True)
class Loaded:
    """The settings, and for each where it came from."""

    settings: Settings
    sources: Mapping[str, str]
    unknown_variables: tuple[str, ...]


def fields() -> tuple[dataclasses.Field[Any], ...]:
    """The limits come last, as there are many."""
    limits = {item.name for item in dataclasses.fields(LimitSettings)}
    return tuple(sorted(dataclasses.fields(Settings), key=lambda item: item.name in limits))


def load(flags: Mapping[str, object], environ: Mapping[str, str] | None = None) -> Loaded:
    """Reads every setting; `SettingRefused` names the first that cannot be used, never its value
    where that is a secret."""
    environ = os.environ if environ is None else environ
    path, config = _read_config(environ)
    values: dict[str, Any] = {}
    sources: dict[str, str] = {}
    for item in fields():
        given, source = _look_up(item.name, flags, environ, path, config)
        sources[item.name] = source
        if given is not None:
            values[item.name] = _parsed(item, given, source)
    settings = Settings(**values)
    check_addresses(settings.base_url, settings.dashboard_url)
    return Loaded(settings, sources, _unknown(environ))


def warnings_about(loaded: Loaded) -> list[str]:
    """What somebody should know who starts a server with these settings."""
    settings = loaded.settings
    warnings = [
        f"{name} is set, but kurz knows no such setting." for name in loaded.unknown_variables
    ]
    if settings.base_url and not settings.is_local and loaded.sources["access"] == "default":
        may = "make links" if settings.root_workspace is None else "create an account"
        warnings.append(
            f"anybody who reaches the base URL may {may}. Set KURZ_ACCESS=public if that is"
            " meant, or KURZ_ACCESS=private."
        )
    if settings.retention == "archival" and settings.archive is None:
        warnings.append(
            "KURZ_RETENTION=archival, but there is no archive: links stay in the trash and are"
            " never purged. Set KURZ_ARCHIVE to a folder or bucket."
        )
    if settings.counter_scramble == "offset":
        warnings.append(
            "KURZ_COUNTER_SCRAMBLE=offset: counted codes follow each other, anybody can walk them."
        )
    if own := values.networks_of_this_machine(settings.check_networks):
        warnings.append(
            f"KURZ_CHECK_NETWORKS has {', '.join(own)}: whoever makes links can find out what"
            " answers on this machine, or a cloud's metadata."
        )
    return warnings


def variable(name: str) -> str:
    return PREFIX + name.upper()


def _look_up(
    name: str,
    flags: Mapping[str, object],
    environ: Mapping[str, str],
    path: Path,
    config: Mapping[str, object],
) -> tuple[str | None, str]:
    key = variable(name)
    if flags.get(name) is not None:
        return str(flags[name]), f"--{name.replace('_', '-')}"
    if key in environ and f"{key}_FILE" in environ:
        raise SettingRefused(f"Both {key} and {key}_FILE are set. Keep one of them.")
    if key in environ:
        return environ[key], key
    if f"{key}_FILE" in environ:
        return _read_twin(f"{key}_FILE", environ[f"{key}_FILE"]), f"{key}_FILE"
    if name in config:
        value = config[name]
        listed = isinstance(value, list)
        return ",".join(map(str, value)) if listed else str(value), f"{name} in {path}"  # type: ignore[call-overload]
    return None, "default"


def _parsed(item: dataclasses.Field[Any], given: str, source: str) -> Any:
    try:
        if not given:
            raise ValueError("must not be empty")
        return item.metadata["parse"](given)
    except ValueError as error:
        is_hidden = item.metadata["is_secret"] or not given or "@" in given  # a password, maybe
        shown = "" if is_hidden else f", not “{given}”"
        raise SettingRefused(f"{source} {error}{shown}.") from None


def _read_twin(key: str, path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8-sig").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise SettingRefused(f"{key} names a file that cannot be read: {error}.") from None


def _read_config(environ: Mapping[str, str]) -> tuple[Path, dict[str, object]]:
    chosen = environ.get(f"{PREFIX}CONFIG")
    if chosen == "":
        raise SettingRefused(f"{PREFIX}CONFIG must not be empty.")
    path = Path(chosen or CONFIG_FILE)
    if chosen is None and not path.exists():
        return path, {}
    try:
        config = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise SettingRefused(f"{path} cannot be read: {error}.") from None
    names = [item.name for item in fields()]
    for name in config:
        if name not in names:
            near = difflib.get_close_matches(name, names, 1)
            hint = f" Did you mean {near[0]}?" if near else ""
            raise SettingRefused(f"{path} has a setting that kurz does not know: {name}.{hint}")
    return path, config


def _unknown(environ: Mapping[str, str]) -> tuple[str, ...]:
    known = {variable(item.name) for item in fields()}
    known |= {f"{key}_FILE" for key in known} | {f"{PREFIX}CONFIG"}
    return tuple(sorted(key for key in environ if key.startswith(PREFIX) and key not in known))
