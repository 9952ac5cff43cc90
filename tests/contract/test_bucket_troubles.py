"""What is said about a bucket that cannot be used: the server, the cause, and what to do."""

import pytest

from kurz.errors import BackupUnavailable
from kurz.links.errors import ArchiveUnavailable
from kurz.outbound.backup_bucket import BackupBucket
from kurz.outbound.bucket import ArchiveBucket
from servers.process import HOST, free_port
from servers.web import WebServer, says

KEY = {"key_id": "somebody", "secret_key": "hidden", "region": "us-east-1"}


async def said_of(endpoint: str) -> str:
    with pytest.raises(ArchiveUnavailable) as refused:
        await ArchiveBucket("links", "kurz", endpoint=endpoint, **KEY).check()
    said = refused.value.detail
    assert "hidden" not in said
    return said.removeprefix("The archive s3://links/kurz cannot be used: ")


@pytest.mark.parametrize(
    ("status", "cause"),
    [
        (403, "403: it rejects the key, or the key lacks a permission. Check the key and its"),
        (401, "401: it rejects the key. Check the key's ID and its secret."),
        (404, "404: it has no such bucket. Create the bucket, or correct its name."),
        (400, "400: Look at its log."),
    ],
)
async def test_an_answer_is_explained(status, cause):
    async with WebServer(HOST, fallback=says(status, body=b"<?xml version='1.0'?><Error/>")) as web:
        endpoint = f"http://{HOST}:{web.port}"
        said = await said_of(endpoint)
    assert said.startswith(f"{endpoint} answers {cause}")


@pytest.mark.parametrize("scheme", ["http", "https"])
async def test_a_server_that_does_not_answer_is_named(scheme):
    endpoint = f"{scheme}://{HOST}:{free_port()}"
    said = await said_of(endpoint)
    assert said == f"{endpoint} cannot be reached. Check its address, and that it is running."


def test_a_bucket_that_does_not_exist(s3):
    """On a server that speaks S3's language."""
    with pytest.raises(BackupUnavailable) as refused:
        BackupBucket("no-such-bucket", "", endpoint=s3.url, **KEY).check()
    assert f"{s3.url} answers 404: it has no such bucket." in refused.value.detail
