"""Reads the settings. Each comes from a flag, then `KURZ_NAME`, then the file named by
`KURZ_NAME_FILE`, then `kurz.toml`, then its default."""

import dataclasses
import difflib
import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kurz.errors import SettingRefused
from kurz.settings import values
from kurz.settings.addresses import check_addresses
from kurz.settings.model import Settings, fields

PREFIX = "KURZ_"
CONFIG_FILE = "kurz.toml"


@dataclass(frozen=True)
class LoadedSettings:
    """The settings, and for each where it came from."""

    settings: Settings
    sources: Mapping[str, str]
    unknown_variables: tuple[str, ...]


def load(flags: Mapping[str, object], environ: Mapping[str, str] | None = None) -> LoadedSettings:
    """Reads every setting; `SettingRefused` names the first invalid one, never the value of a
    secret."""
    environ = os.environ if environ is None else environ
    path, config = _read_config(environ)
    given_values: dict[str, Any] = {}
    sources: dict[str, str] = {}
    for item in fields():
        given, source = _look_up(item.name, flags, environ, path, config)
        sources[item.name] = source
        if given is not None:
            given_values[item.name] = _parsed(item, given, source)
    settings = Settings(**given_values)
    check_addresses(settings.base_url, settings.dashboard_url, settings.host)
    return LoadedSettings(settings, sources, _unknown(environ))


def warnings_about(loaded: LoadedSettings) -> list[str]:
    """Warnings for someone who starts a server with these settings."""
    settings = loaded.settings
    warnings = [
        f"{name} is set, but there is no such setting.{_suggestion(name)}"
        for name in loaded.unknown_variables
    ]
    if settings.base_url and not settings.is_local and loaded.sources["access"] == "default":
        may = "create links" if settings.root_workspace is None else "create an account"
        warnings.append(
            f"anyone who can reach the base URL can {may}. Set KURZ_ACCESS=public if that is"
            " intended, or KURZ_ACCESS=private."
        )
    if settings.retention == "archival" and settings.archive is None:
        warnings.append(
            "KURZ_RETENTION=archival, but no archive is configured: links stay in the trash"
            " and are never purged. Set KURZ_ARCHIVE to a folder or bucket."
        )
    if settings.counter_scramble == "offset":
        warnings.append(
            "KURZ_COUNTER_SCRAMBLE=offset: counter codes are consecutive, so anyone can"
            " enumerate them."
        )
    if own := values.networks_of_this_machine(settings.check_networks):
        warnings.append(
            f"KURZ_CHECK_NETWORKS has {', '.join(own)}: anyone who creates links can find out"
            " what runs on this machine, or read a cloud's metadata address."
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
        raise SettingRefused(f"{key}: the file cannot be read: {error}.") from None


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
            hint = _nearest(name, names)
            raise SettingRefused(f"{path} has an unknown setting: {name}.{hint}")
    return path, config


def _suggestion(key: str) -> str:
    known = [variable(item.name) for item in fields()]
    return _nearest(key, [*known, *(f"{name}_FILE" for name in known)]) or " Check its name."


def _nearest(name: str, names: list[str]) -> str:
    near = difflib.get_close_matches(name.replace("-", "_"), names, 1)
    return f" Did you mean {near[0]}?" if near else ""


def _unknown(environ: Mapping[str, str]) -> tuple[str, ...]:
    known = {variable(item.name) for item in fields()}
    known |= {f"{key}_FILE" for key in known} | {f"{PREFIX}CONFIG"}
    return tuple(sorted(key for key in environ if key.startswith(PREFIX) and key not in known))
