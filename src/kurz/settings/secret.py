"""The installation's secret: from the settings, or created once and kept in the data folder."""

import os
import secrets
from pathlib import Path

from kurz.errors import SettingRefused
from kurz.settings.model import Settings
from kurz.settings.values import check_secret


def keep_secret(settings: Settings) -> str:
    """The secret; a second process finds that of the first."""
    if settings.secret is not None:
        return settings.secret
    path = settings.secret_path
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        _make(path)
    except OSError as error:
        raise _unusable(path, error) from None
    return read_secret(path)


def read_secret(path: Path) -> str:
    """Raises `SettingRefused` for a file that cannot be used, and never shows what is in it."""
    try:
        return check_secret(path.read_text(encoding="utf-8").strip())
    except OSError as error:
        raise _unusable(path, error) from None
    except UnicodeDecodeError:
        raise SettingRefused(f"{path} must contain printable text.") from None
    except ValueError as error:
        raise SettingRefused(f"{path} {error}.") from None


def _unusable(path: Path, error: OSError) -> SettingRefused:
    return SettingRefused(f"{path} cannot be used: {error.strerror}.")


def _make(path: Path) -> None:
    """Writes a new secret to another file first, so that nobody reads an incomplete one."""
    if path.exists():
        return
    fresh = path.with_name(f"{path.name}.{secrets.token_hex(4)}.part")
    file = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        os.write(file, secrets.token_hex(32).encode() + b"\n")
        os.fsync(file)
    finally:
        os.close(file)
    try:
        os.link(fresh, path)
    except FileExistsError:
        pass
    finally:
        fresh.unlink()
