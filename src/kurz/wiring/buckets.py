"""How the settings say that a bucket is opened."""

from typing import Any

from kurz.errors import SettingRefused
from kurz.settings.model import Settings

NEEDED = "Install it where kurz is installed: pip install 'obstore>=0.12.1,<0.13'."


def split(address: str) -> tuple[str, str]:
    """The bucket and what follows, of `s3://bucket/…`."""
    bucket, _, rest = address.removeprefix("s3://").partition("/")
    return bucket, rest


def access_of(settings: Settings, prefix: str) -> dict[str, Any]:
    """From the settings `KURZ_PREFIX_S3_…`. Raises `SettingRefused`."""
    names = ("endpoint", "region", "key_id", "secret_key")
    access = {name: getattr(settings, f"{prefix}_s3_{name}") for name in names}
    if (access["key_id"] is None) != (access["secret_key"] is None):
        start = f"KURZ_{prefix.upper()}_S3"
        raise SettingRefused(f"Set both {start}_KEY_ID and {start}_SECRET_KEY, or neither.")
    return access
