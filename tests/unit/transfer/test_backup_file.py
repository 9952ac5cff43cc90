"""The file of a backup: what was packed comes out again, and any other byte is noticed."""

import gzip
import io
import random
import tarfile
from datetime import UTC, datetime
from io import BytesIO

import msgspec
import pyrage
import pytest

from kurz.errors import BackupBroken, BackupLocked, BackupRefused, SettingRefused
from kurz.transfer.backup.manifest import Manifest, encode
from kurz.transfer.backup.opening import PackedFile, read_pack
from kurz.transfer.backup.packing import packed
from kurz.transfer.backup.sealing import BackupKeys, Seal, unsealed
from kurz.transfer.backup.trailer import TRAILER_BYTES

SEGMENT = f"journal/{'0a' * 16}.clicks"
FILES = {"kurz.db": random.Random(1).randbytes(3000), "secret": b"x" * 64, SEGMENT: b"clicks"}
MANIFEST = Manifest(
    kurz="1.2.3",
    oldest_schema="0023",
    schema="0023",
    created_at=datetime(2026, 5, 1, tzinfo=UTC),
    links=3,
    accounts=2,
    workspaces=1,
    clicks=9,
    journals=1,
    database_bytes=3000,
    journal_bytes=6,
    has_secret=True,
)
NO_KEYS = BackupKeys()


def pack_into(file, manifest: Manifest = MANIFEST, files: dict[str, bytes] = FILES) -> None:
    with packed(file, manifest) as pack:
        for name, data in files.items():
            pack.add_bytes(name, data, 1.5)


def make(manifest: Manifest = MANIFEST, files: dict[str, bytes] = FILES) -> bytes:
    file = BytesIO()
    pack_into(file, manifest, files)
    return file.getvalue()


def seal(keys: BackupKeys) -> bytes:
    file = BytesIO()
    with Seal(keys).sealed(file) as inner:
        pack_into(inner)
    return file.getvalue()


def read(data: bytes, keys: BackupKeys = NO_KEYS) -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    times = set()

    def note(_: Manifest, member: PackedFile) -> None:
        found[member.name] = b"".join(member.chunks)
        times.add(member.modified_at)

    with unsealed(BytesIO(data), keys) as content:
        assert read_pack(content, note) == MANIFEST
    assert times == {1.5}
    return found


def flipped(data: bytes, at: int, bit: int = 0) -> bytes:
    return data[:at] + bytes([data[at] ^ (1 << bit)]) + data[at + 1 :]


def test_what_was_packed_comes_out_again():
    assert read(make()) == FILES


def test_other_programs_can_unpack_it():
    with tarfile.open(fileobj=BytesIO(make()), mode="r:gz") as tar:
        names = tar.getnames()
        database = tar.extractfile("kurz.db")
        assert database is not None
        assert database.read() == FILES["kurz.db"]
    assert names == ["manifest.json", *FILES, "SHA256SUMS"]
    assert gzip.decompress(make()).endswith(b"\n")


def test_a_change_of_any_byte_is_noticed():
    data = make()
    for at in range(len(data)):
        with pytest.raises((BackupBroken, BackupRefused)):
            read(flipped(data, at, at % 8))


def test_a_change_of_any_byte_of_an_encrypted_backup_is_noticed():
    identity = pyrage.x25519.Identity.generate()
    data = seal(BackupKeys(recipients=[str(identity.to_public())]))
    keys = BackupKeys(identity=str(identity))
    assert read(data, keys) == FILES
    places = {*range(300), *range(len(data) - 50, len(data)), *range(0, len(data), 17)}
    for at in places:
        with pytest.raises((BackupBroken, BackupLocked)):
            read(flipped(data, at, at % 8), keys)


def test_a_passphrase_opens_a_backup():
    data = seal(BackupKeys(passphrase="correct horse"))
    assert read(data, BackupKeys(passphrase="correct horse")) == FILES
    assert FILES["secret"] not in data
    with pytest.raises(BackupLocked, match="passphrase is wrong"):
        read(data, BackupKeys(passphrase="correct house"))
    with pytest.raises(BackupLocked, match="KURZ_BACKUP_PASSPHRASE"):
        read(data)
    end = data.index(b"\n")
    for at in (0, 20, end - 1, end, end + 1, len(data) - 1):
        with pytest.raises((BackupBroken, BackupLocked)):
            read(flipped(data, at), BackupKeys(passphrase="correct horse"))


def test_the_key_of_somebody_else_does_not_open_a_backup():
    identity = pyrage.x25519.Identity.generate()
    data = seal(BackupKeys(recipients=[str(identity.to_public())]))
    other = str(pyrage.x25519.Identity.generate())
    with pytest.raises(BackupLocked, match="not for the given key"):
        read(data, BackupKeys(identity=other))
    with pytest.raises(SettingRefused, match="AGE-SECRET-KEY"):
        read(data, BackupKeys(identity="something"))
    of_keygen = f"# created: today\n# public key: age1x\n{identity}\n"
    assert read(data, BackupKeys(identity=of_keygen)) == FILES


@pytest.mark.parametrize("cut", [1, TRAILER_BYTES, TRAILER_BYTES + 1, 1000])
def test_an_incomplete_backup_is_noticed(cut):
    with pytest.raises(BackupBroken):
        read(make()[:-cut])


@pytest.mark.parametrize("more", [b"\0", b"\0" * 512, make()])
def test_what_was_appended_is_noticed(more):
    with pytest.raises(BackupBroken):
        read(make() + more)


@pytest.mark.parametrize("data", [b"", b"hello", bytes(5000), gzip.compress(b"{}", mtime=0)])
def test_another_file_is_not_a_backup(data):
    with pytest.raises(BackupBroken):
        read(data)


@pytest.mark.parametrize(
    "name", ["../kurz.db", "/etc/passwd", "journal/../../x", "kurz.toml", "journal/x.clicks"]
)
def test_a_backup_has_no_other_files(name):
    with pytest.raises(BackupBroken, match="unexpected file"):
        read(make(files={**FILES, name: b""}))


def test_a_backup_without_what_its_manifest_says_is_incomplete():
    for missing in ("kurz.db", "secret"):
        with pytest.raises(BackupBroken, match="incomplete"):
            read(make(files={name: data for name, data in FILES.items() if name != missing}))


def test_a_symbolic_link_is_refused():
    file = io.BytesIO()
    with packed(file, MANIFEST) as pack:
        link = tarfile.TarInfo("kurz.db")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        pack._tar.addfile(link)
    with pytest.raises(BackupBroken, match="unexpected file"):
        read(file.getvalue())


@pytest.mark.parametrize("changes", [{"format": 2}, {"kind": "tables"}])
def test_a_backup_of_a_newer_version_says_so(changes):
    with pytest.raises(BackupRefused, match="newer version"):
        read(make(msgspec.structs.replace(MANIFEST, **changes)))


def test_the_manifest_is_readable():
    assert b'\n  "links": 3,\n' in encode(MANIFEST)
