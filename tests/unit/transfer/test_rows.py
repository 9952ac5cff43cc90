"""A record becomes the link it stands for, by the rules of a new link; and back."""

import csv
import io
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kurz.errors import KurzError
from kurz.links import fields, lifecycle, urls
from kurz.links.codes import deterministic
from kurz.links.errors import FieldRefused
from kurz.links.model import Link, LinkType, Status, Strategy
from kurz.links.transfers import ImportTarget, TransferFormat
from kurz.transfer import rows
from kurz.transfer.reading import reader
from kurz.transfer.writing import WRITERS, head

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
URL = "https://example.com/x"
ROOT = ImportTarget()
TEAM = ImportTarget(workspace_id=42, owner_id=3)


def link_of(target: ImportTarget = ROOT, **record: Any) -> Link:
    record = {"original_url": URL, "short_code": "abc", **record}
    url = urls.judge(rows.original_url(record))
    return rows.to_link(record, target, url, NOW)


def test_a_row_of_a_url_alone_is_a_plain_link():
    link = link_of(short_code=None)
    assert link.short_code == ""
    assert (link.status, link.link_type) == (Status.ACTIVE, LinkType.PERMANENT)
    assert link.created_at == link.updated_at == NOW
    assert (link.redirect_status, link.redirect_count, link.tags) == (302, 0, ())


def test_a_row_that_names_no_redirect_status_gets_the_targets():
    assert link_of(ImportTarget(redirect_status=307)).redirect_status == 307
    assert link_of(ImportTarget(redirect_status=307), redirect_status="301").redirect_status == 301


@pytest.mark.parametrize("code", ["a", "a.b~c-d_e", "x" * 128, "-"])
def test_codes_that_nobody_could_choose_are_kept(code):
    assert link_of(short_code=code).short_code == code


def test_spaces_around_a_url_and_a_code_are_dropped():
    link = link_of(original_url=f" {URL}\t", short_code=" abc ")
    assert (link.original_url, link.short_code) == (URL, "abc")


@pytest.mark.parametrize(
    ("record", "word"),
    [
        ({"short_code": "x" * 129}, "128"),
        ({"short_code": "a/b"}, "letters"),
        ({"short_code": "."}, "browsers"),
        ({"short_code": ".."}, "browsers"),
        ({"short_code": "a b"}, "letters"),
        ({"short_code": "äpfel"}, "letters"),
        ({"short_code": "API"}, "is a reserved word"),
        ({"short_code": 7}, "short_code"),
        ({"original_url": None}, "original_url"),
        ({"original_url": 7}, "original_url"),
        ({"title": "a\x1bb"}, "title"),
        ({"title": "\udcff"}, "title"),
        ({"title": "a\nb"}, "title"),
        ({"title": "a\u202eb"}, "title"),
        ({"title": "   "}, "title"),
        ({"title": "x" * 201}, "title"),
        ({"title": ["x"]}, "title"),
        ({"notes": "x" * 2001}, "notes"),
        ({"notes": "a\0b"}, "notes"),
        ({"tags": [1]}, "tags"),
        ({"tags": {}}, "tags"),
        ({"tags": ["x"] * 21}, "tags"),
        ({"tags": "a||b"}, "tags"),
        ({"tags": ["x" * 51]}, "tags"),
        ({"redirect_status": "303"}, "redirect_status"),
        ({"redirect_status": "3e2"}, "redirect_status"),
        ({"forward_query": "maybe"}, "forward_query"),
        ({"forward_query": 1}, "forward_query"),
        ({"max_clicks": "0"}, "max_clicks"),
        ({"max_clicks": "-1"}, "max_clicks"),
        ({"max_clicks": True}, "max_clicks"),
        ({"max_clicks": 1.0}, "max_clicks"),
        ({"max_clicks": 2**53 + 1}, "max_clicks"),
        ({"clicks_used": "٣"}, "clicks_used"),
        ({"redirect_count": "1_000"}, "redirect_count"),
        ({"redirect_count": "9" * 5000}, "redirect_count"),
        ({"avg_redirect_ms": "nan"}, "avg_redirect_ms"),
        ({"avg_redirect_ms": "-1"}, "avg_redirect_ms"),
        ({"avg_redirect_ms": []}, "avg_redirect_ms"),
        ({"avg_redirect_ms": 10**400}, "avg_redirect_ms"),
        ({"created_at": "yesterday"}, "created_at"),
        ({"created_at": 1700000000}, "created_at"),
        ({"created_at": "2026-03-03"}, "future"),
        ({"deleted_at": "2036-03-03"}, "future"),
        ({"expires_at": "9999-12-31T23:59:59-14:00"}, "expires_at"),
        ({"expires_at": "2020-01-01", "starts_at": "2020-01-01"}, "starts_at"),
        ({"status": "active"}, "status"),
        ({"status": ["ACTIVE"]}, "status"),
        ({"status": "EXPIRED"}, "EXPIRED"),
        ({"status": "EXPIRED", "expires_at": "2027-01-01"}, "EXPIRED"),
        ({"status": "EXHAUSTED"}, "EXHAUSTED"),
        ({"status": "EXHAUSTED", "max_clicks": 3, "clicks_used": 2}, "EXHAUSTED"),
        ({"link_type": "FOREVER"}, "link_type"),
        ({"link_type": {}}, "link_type"),
    ],
)
def test_a_value_that_cannot_be_kept_is_refused_by_name(record, word):
    with pytest.raises(KurzError) as caught:
        link_of(**record)
    assert word in caught.value.detail


def test_a_past_of_its_own_is_kept():
    link = link_of(
        created_at="2019-05-01T10:00:00+02:00",
        updated_at="2020-05-01",
        starts_at="2020-01-01 00:00:00",
        expires_at="2021-01-01T00:00:00.000001Z",
        redirect_count="17",
        avg_redirect_ms="1.25",
        max_clicks="20",
        clicks_used="17",
    )
    assert link.created_at == datetime(2019, 5, 1, 8, tzinfo=UTC)
    assert link.updated_at == datetime(2020, 5, 1, tzinfo=UTC)
    assert link.starts_at == datetime(2020, 1, 1, tzinfo=UTC)
    assert link.expires_at == datetime(2021, 1, 1, 0, 0, 0, 1, tzinfo=UTC)
    assert (link.redirect_count, link.avg_redirect_ms) == (17, 1.25)
    assert (link.max_clicks, link.clicks_used) == (20, 17)
    assert lifecycle.status(link, NOW) is Status.EXPIRED


def test_a_machine_whose_clock_is_a_little_ahead_is_believed():
    assert link_of(created_at="2026-03-01T13:00:00Z").created_at > NOW


def test_a_deleted_link_stays_in_the_trash_from_now_on():
    records: list[dict[str, Any]] = [
        {"status": "DELETED"},
        {"status": "DELETED", "deleted_at": "2026-02-01"},
        {"deleted_at": "2026-02-01"},
        {"status": "DELETED", "deleted_at": "2026-02-01", "swept_at": "2026-02-01"},
    ]
    for record in records:
        link = link_of(**record)
        assert (link.status, link.deleted_at, link.swept_at) == (Status.DELETED, NOW, None)


def test_what_the_reaper_moved_to_the_trash_is_still_swept():
    gone: dict[str, Any] = {
        "deleted_at": "2026-02-01",
        "swept_at": "2026-02-01",
        "expires_at": "2026-01-01",
    }
    link = link_of(status="DELETED", **gone)
    assert (link.deleted_at, link.swept_at) == (NOW, NOW)
    assert lifecycle.outcome(link, NOW) is lifecycle.Outcome.EXPIRED
    link = link_of(status="EXPIRED", **gone)
    assert (link.deleted_at, link.swept_at) == (None, None)


def test_an_exhausted_link_is_so_by_its_counts():
    link = link_of(status="EXHAUSTED", max_clicks=3, clicks_used=3)
    assert link.status is Status.ACTIVE
    assert lifecycle.status(link, NOW) is Status.EXHAUSTED


def test_only_a_link_of_nobody_with_an_end_is_temporary():
    end = "2026-03-01T20:00:00Z"
    assert link_of(link_type="TEMPORARY", expires_at=end).link_type is LinkType.TEMPORARY
    assert link_of(link_type="TEMPORARY").link_type is LinkType.PERMANENT
    assert link_of(TEAM, link_type="TEMPORARY", expires_at=end).link_type is LinkType.PERMANENT
    assert (
        link_of(ImportTarget(owner_id=3), link_type="TEMPORARY", expires_at=end).link_type
        is LinkType.PERMANENT
    )


def test_a_code_is_deterministic_only_where_it_is():
    url = "http://example.com/api/users?id=123&name=john"
    row = {"original_url": url, "strategy": "deterministic"}
    assert link_of(TEAM, **row, short_code="K5YWpCtbjZ").strategy is Strategy.DETERMINISTIC
    assert link_of(TEAM, **row, short_code="K5YWpCtbjY").strategy is Strategy.CUSTOM
    other = ImportTarget(workspace_id=43)
    assert link_of(other, **row, short_code="K5YWpCtbjZ").strategy is Strategy.CUSTOM
    assert link_of(ROOT, **row, short_code="K5YWpCtbjZ").strategy is Strategy.CUSTOM
    root_space = deterministic.generate(urls.judge(url).canonical, 0)
    assert link_of(ROOT, **row, short_code=root_space).strategy is Strategy.CUSTOM
    row["strategy"] = "random"
    assert link_of(TEAM, **row, short_code="K5YWpCtbjZ").strategy is Strategy.CUSTOM


text = st.text(
    st.characters(codec="utf-8", exclude_categories=("Cc", "Cs")) | st.sampled_from("=+-@'\"|\\,;"),
    min_size=1,
).filter(lambda x: x.strip() and not set(x) & fields._DIRECTIONS)
instants = st.datetimes(datetime(1971, 1, 1), datetime(2026, 3, 1), timezones=st.just(UTC))  # noqa: DTZ001
links = st.builds(
    Link,
    id=st.just(0),
    workspace_id=st.just(42),
    short_code=st.from_regex(r"[A-Za-z0-9._~-]{1,128}", fullmatch=True).filter(
        lambda code: code.lower() not in ("app", "api", "v4", "www", ".", "..")
    ),
    version=st.just(1),
    strategy=st.just(Strategy.CUSTOM),
    original_url=st.just(URL),
    canonical_url=st.just(URL),
    location=st.just(URL),
    owner_id=st.just(3),
    link_type=st.just(LinkType.PERMANENT),
    status=st.sampled_from([Status.ACTIVE, Status.PAUSED, Status.BANNED]),
    created_at=instants,
    updated_at=instants,
    starts_at=st.none() | instants.map(lambda x: x.replace(year=1972)),
    expires_at=st.none()
    | instants.map(lambda x: x + timedelta(days=9000)).filter(lambda x: x > NOW),
    redirect_status=st.sampled_from(fields.REDIRECT_STATUSES),
    title=st.none() | text.map(lambda x: x[:200]).filter(str.strip),
    tags=st.lists(text.map(lambda x: x[:50]).filter(str.strip), max_size=4).map(tuple),
    notes=st.none()
    | st.lists(text, min_size=1).map("\n".join).map(lambda x: x[:2000]).filter(str.strip),
    forward_query=st.booleans(),
    max_clicks=st.none() | st.integers(1, 2**53),
    clicks_used=st.integers(0, 2**53),
    redirect_count=st.integers(0, 2**53),
    avg_redirect_ms=st.none() | st.floats(0, 1e9),
)


@given(links, st.sampled_from(TransferFormat))
def test_a_link_that_was_written_is_read_as_it_was(link, kind):
    reading = reader(kind)
    data = head(kind) + WRITERS[kind]([link], {42: "team"}, NOW)
    [(_, record, _)] = [*reading.feed(data), *reading.end()]
    assert isinstance(record, dict)
    assert record["workspace"] == "team"
    again = rows.to_link(record, TEAM, urls.judge(rows.original_url(record)), NOW)
    assert again == link


@given(links)
def test_no_cell_of_an_export_begins_like_a_formula(link):
    text = WRITERS[TransferFormat.CSV]([link], {42: "team"}, NOW).decode()
    [cells] = csv.reader(io.StringIO(text, newline=""))
    assert [cell for cell in cells if cell.startswith(tuple("=+-@\t\r"))] == []


def test_a_code_that_begins_with_a_minus_is_no_formula():
    [line] = WRITERS[TransferFormat.CSV]([link_of(short_code="-1")], {}, NOW).splitlines()
    assert line.startswith(b"'-1,")


def test_the_glance_at_text_never_accepts_what_the_rule_refuses():
    for number in range(0x11000):
        letter = chr(number)
        if rows._is_plain(f"a{letter}", 200):
            fields.check(title=f"a{letter}")
    assert not rows._is_plain(" ", 200)
    with pytest.raises(FieldRefused):
        fields.check(title=" ")
