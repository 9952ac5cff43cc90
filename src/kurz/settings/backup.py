"""The settings of backups."""

from dataclasses import dataclass
from datetime import timedelta

from kurz.settings import values
from kurz.settings.values import setting


@dataclass(frozen=True, kw_only=True)
class BackupSettings:
    read_only: str = values.switch(
        "off", "`on`: links work, but nothing can be changed and no clicks are counted."
    )
    backup: str | None = setting(
        None,
        values.archive,
        "Where kurz makes scheduled backups: a folder, or s3://bucket/prefix.",
    )
    backup_interval: timedelta = setting(
        timedelta(days=1), values.duration, "Time between two scheduled backups."
    )
    backup_keep: int = setting(7, values.integer(1, 10_000), "How many scheduled backups to keep.")
    backup_passphrase: str | None = setting(
        None, values.text, "Passphrase that encrypts backups.", is_secret=True
    )
    backup_recipients: tuple[str, ...] = setting(
        (), values.recipients, "Public keys of age that backups are encrypted for."
    )
    backup_identity: str | None = setting(
        None, values.text, "Secret key of age that decrypts backups.", is_secret=True
    )
    backup_s3_endpoint: str | None = setting(
        None, values.base_url, "Endpoint of the bucket of backups; Amazon S3 if unset."
    )
    backup_s3_region: str = setting("us-east-1", values.text, "Region of the bucket.")
    backup_s3_key_id: str | None = setting(
        None, values.text, "Access key ID for the bucket.", is_secret=True
    )
    backup_s3_secret_key: str | None = setting(
        None, values.text, "Secret access key for the bucket.", is_secret=True
    )
