"""An archive in a bucket of S3, or of any compatible service. Needs the extra `s3`."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

from obstore.exceptions import BaseError, NotFoundError
from obstore.store import S3Store

from kurz.errors import SettingRefused
from kurz.links.ending.archives import MAX_FILE_BYTES, StoredFile
from kurz.links.errors import ArchiveFileBroken, ArchiveUnavailable
from kurz.outbound.bucket_errors import reason_of

TRIES = 3
GIVE_UP_AFTER = timedelta(seconds=60)  # of a call, with all its retries
ANSWER_WITHIN = timedelta(seconds=30)


def open_store(
    bucket: str,
    prefix: str,
    about: str,
    settings: str,
    *,
    endpoint: str | None = None,
    region: str | None = None,
    key_id: str | None = None,
    secret_key: str | None = None,
) -> S3Store:
    """It is not contacted yet. `settings` is how their names begin. Raises `SettingRefused`."""
    given = {
        "endpoint": endpoint,
        "region": region,
        "access_key_id": key_id,
        "secret_access_key": secret_key,
    }
    options: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    try:
        return S3Store(
            bucket,
            prefix=prefix or None,
            client_options={
                "allow_http": endpoint is not None and endpoint.startswith("http://"),
                "timeout": ANSWER_WITHIN,
            },
            retry_config={"max_retries": TRIES - 1, "retry_timeout": GIVE_UP_AFTER},
            **options,
        )
    except (BaseError, ValueError) as error:
        raise SettingRefused(
            f"{about} cannot be opened: {reason_of(error)}. Check the settings {settings}… and,"
            " if they have no key, the AWS_… variables."
        ) from error


class ArchiveBucket:
    """The `ArchiveFiles` in a bucket. One request writes a file: it exists completely, or not at
    all."""

    def __init__(self, bucket: str, prefix: str, **access: str | None) -> None:
        self._shown = f"s3://{bucket}/{prefix}"
        self._store = open_store(
            bucket,
            prefix,
            f"The archive {self._shown}",
            "KURZ_ARCHIVE",
            **access,
        )

    async def check(self) -> None:
        async with self._asking():
            async for _ in self._store.list(chunk_size=1):
                return

    async def write(self, name: str, data: bytes) -> None:
        async with self._asking():
            await self._store.put_async(name, data, use_multipart=False)

    async def read(self, name: str) -> bytes | None:
        async with self._asking():
            try:
                answer = await self._store.get_async(name)
                if answer.meta["size"] > MAX_FILE_BYTES:
                    raise ArchiveFileBroken(f"{name} is too large for an archive file.")
                return bytes(await answer.bytes_async())
            except (FileNotFoundError, NotFoundError):
                return None

    async def list(self) -> Sequence[StoredFile]:
        found: list[StoredFile] = []
        async with self._asking():
            async for page in self._store.list():
                found += [StoredFile(item["path"], item["size"]) for item in page]
        return sorted(found)

    async def remove(self, name: str) -> None:
        async with self._asking():
            try:
                await self._store.delete_async(name)
            except (FileNotFoundError, NotFoundError):
                return

    @asynccontextmanager
    async def _asking(self) -> AsyncIterator[None]:
        try:
            yield
        except (BaseError, OSError) as error:
            raise ArchiveUnavailable(
                f"The archive {self._shown} cannot be used: {reason_of(error)}"
            ) from error
