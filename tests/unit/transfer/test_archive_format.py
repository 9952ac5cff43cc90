"""What an archive's files hold comes back as it was, also from those of an older kurz."""

import gzip
import json
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from kurz.links.archives import ArchivedLink
from kurz.links.model import DestinationStatus, Link, LinkType, Status, Strategy
from kurz.transfer.archive_format import decode, encode, encode_sound

AT = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
LINK = Link(
    id=7,
    workspace_id=0,
    short_code="launch",
    version=3,
    strategy=Strategy.CUSTOM,
    original_url="https://example.com/",
    canonical_url="https://example.com/",
    location="https://example.com/",
    owner_id=5,
    link_type=LinkType.PERMANENT,
    status=Status.DELETED,
    created_at=AT,
    updated_at=AT,
    deleted_at=AT,
)
CHECKED = replace(
    LINK,
    destination_status=DestinationStatus.BROKEN,
    destination_http_status=404,
    last_checked_at=AT,
)


@pytest.mark.parametrize("link", [LINK, CHECKED, replace(LINK, held_at=AT)])
def test_a_link_comes_back_as_it_was(link):
    archived = ArchivedLink(link, None, None, [])
    data, sound = encode_sound([archived], {}, "here", AT)
    assert [*sound] == [archived]
    assert [entry.archived for entry in decode(data)] == [archived]


def test_a_file_from_before_there_were_checks_is_read():
    data = encode([ArchivedLink(CHECKED, None, None, [])], {}, "here", AT)
    line = json.loads(gzip.decompress(data))
    line["archive"]["destination_status"] = line["archive"].pop("destination_http_status")
    del line["archive"]["held_at"]
    [entry] = decode(gzip.compress(json.dumps(line).encode()))
    assert entry.archived.link == replace(CHECKED, destination_status=None)
