"""The countries of networks, from a file: no service is asked."""

import lzma
import os
import zlib
from collections.abc import Callable
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Final

import maxminddb
import structlog

from kurz.clicks.ports import CountryFinder
from kurz.errors import SettingRefused
from kurz.files import open_new

BUILT_IN: Final = "built-in"
OFF: Final = "off"
MAX_NETWORKS: Final = 16_384  # a lookup that is not cached takes 2 µs

_log = structlog.get_logger(__name__)


class CountryDatabase:
    """The `CountryFinder` in a file of MaxMind's format. It is mapped, not read: unused parts take
    no memory. So it must not be overwritten, only replaced by another file of the same name, which
    is used from the next start on."""

    def __init__(self, path: Path) -> None:
        """Raises `SettingRefused` if the file cannot be used."""
        try:
            self._reader = maxminddb.open_database(path)
        except OSError as error:
            raise _refused(path, error.strerror or str(error)) from None
        except (ValueError, maxminddb.InvalidDatabaseError):
            raise _refused(path, "it is not in MaxMind's format") from None
        self.find: Callable[[bytes], str] = lru_cache(MAX_NETWORKS)(self._find)

    def close(self) -> None:
        self._reader.close()

    def _find(self, network: bytes) -> str:
        try:
            found = self._reader.get(_address(network))
        except (ValueError, maxminddb.InvalidDatabaseError):  # no IPv6 in it, or damaged
            return ""
        return _country(found)


class NullCountryFinder:
    """No country is known."""

    def find(self, network: bytes) -> str:  # noqa: ARG002  whatever it is
        return ""


def open_countries(choice: str, data_dir: Path) -> CountryFinder:
    """What KURZ_GEOIP_DB selects: a file, the included one, or none."""
    if choice == OFF:
        return NullCountryFinder()
    if choice != BUILT_IN:
        return CountryDatabase(Path(choice))
    try:
        return CountryDatabase(_unpacked(data_dir))
    except (OSError, SettingRefused) as error:  # a missing country must not lose a click
        _log.warning("countries of visitors unavailable", error=str(error))
        return NullCountryFinder()


def check_countries(choice: str) -> None:
    """Raises `SettingRefused` if it names a file that cannot be used."""
    if choice not in (OFF, BUILT_IN):
        CountryDatabase(Path(choice)).close()


def _refused(path: Path, reason: str) -> SettingRefused:
    return SettingRefused(f"KURZ_GEOIP_DB: the file {path} cannot be used: {reason}.")


def _unpacked(data_dir: Path) -> Path:
    """The included file, in the data folder: unpacked once, and mapped from there. Otherwise it
    would take 8 MB of memory."""
    packed = (files("kurz.outbound") / "data" / "country.mmdb.xz").read_bytes()
    path = data_dir / f"country-{zlib.crc32(packed):08x}.mmdb"
    if not path.exists():
        data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        unfinished = path.with_suffix(f".{os.getpid()}.part")
        try:
            unfinished.unlink(missing_ok=True)
            with open_new(unfinished) as file:
                file.write(lzma.decompress(packed))
                file.flush()
                os.fsync(file.fileno())  # a file with this name counts as complete
            unfinished.replace(path)
        finally:
            unfinished.unlink(missing_ok=True)
        for other in data_dir.glob("country-*.mmdb"):  # of an earlier version
            if other != path:
                other.unlink(missing_ok=True)
    return path


def _address(network: bytes) -> str:
    if len(network) == 3:
        return f"{network[0]}.{network[1]}.{network[2]}.0"
    if len(network) == 6:
        return f"{network.hex(':', 2)}::"
    return ""


def _country(found: object) -> str:
    """The country code; providers of such files store it in different fields."""
    if not isinstance(found, dict):
        return ""
    code = found.get("country_code") or found.get("country")
    if isinstance(code, dict):
        code = code.get("iso_code")
    is_code = isinstance(code, str) and len(code) == 2 and code.isascii() and code.isalpha()
    return str(code).upper() if is_code else ""
