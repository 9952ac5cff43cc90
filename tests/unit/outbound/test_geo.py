"""Countries of networks."""

from pathlib import Path

import maxminddb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kurz.clicks.trimming import address_of, network_of
from kurz.errors import SettingRefused
from kurz.outbound import geo
from kurz.outbound.geo import BUILT_IN, OFF, CountryDatabase, NullCountryFinder, open_countries


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("data")


@pytest.fixture(scope="module")
def countries(folder):
    return open_countries(BUILT_IN, folder)


@pytest.mark.parametrize(
    ("address", "country"),
    [
        ("8.8.8.8", "US"),
        ("1.1.1.1", "AU"),
        ("88.198.10.20", "DE"),
        ("2001:4860:4860::8888", "US"),
        ("2a01:4f8:10a::2", "DE"),
        ("::ffff:8.8.8.8", "US"),
        ("10.0.0.1", ""),
        ("127.0.0.1", ""),
        ("fd00::1", ""),
        ("", ""),
    ],
)
def test_countries_of_known_addresses(countries, address, country):
    assert countries.find(network_of(address_of(address))) == country


@given(st.binary(max_size=8))
def test_any_network_has_a_country_or_none(countries, network):
    country = countries.find(network)
    assert country == "" or (len(country) == 2 and country.isalpha() and country.isupper())


def test_the_file_is_unpacked_once_and_replaces_an_older_one(tmp_path):
    older = tmp_path / "country-00000000.mmdb"
    older.write_bytes(b"old")
    open_countries(BUILT_IN, tmp_path)
    (path,) = tmp_path.iterdir()
    assert path != older
    before = path.stat()
    open_countries(BUILT_IN, tmp_path)
    assert path.stat().st_ino == before.st_ino


def test_counting_goes_on_where_the_file_cannot_be_unpacked(tmp_path):
    in_the_way = tmp_path / "data"
    in_the_way.write_bytes(b"")
    assert isinstance(open_countries(BUILT_IN, in_the_way), NullCountryFinder)


def test_off_knows_no_country_and_needs_no_file(tmp_path):
    countries = open_countries(OFF, tmp_path)
    assert countries.find(bytes([8, 8, 8])) == ""
    assert list(tmp_path.iterdir()) == []


def test_a_file_of_ones_own_is_used(folder, countries, tmp_path):
    (path,) = folder.iterdir()
    own = open_countries(str(path), tmp_path)
    assert own.find(bytes([8, 8, 8])) == "US"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("content", [None, b"", b"no database", bytes(range(256)) * 20])
def test_a_file_that_cannot_be_used_is_refused(tmp_path, content):
    path = tmp_path / "own.mmdb"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(SettingRefused, match=r"KURZ_GEOIP_DB.*own\.mmdb"):
        open_countries(str(path), tmp_path)


def test_a_damaged_file_knows_less_but_never_fails(folder, countries, tmp_path):
    (path,) = folder.iterdir()
    content = bytearray(path.read_bytes())
    content[100_000:3_000_000] = b"\xff" * 2_900_000
    damaged = tmp_path / "damaged.mmdb"
    damaged.write_bytes(content)
    found = CountryDatabase(damaged)
    answers = {found.find(bytes([high, low, 0])) for high in range(256) for low in (0, 77, 200)}
    assert all(len(answer) in (0, 2) for answer in answers)


@pytest.mark.parametrize(
    ("record", "country"),
    [
        ({"country_code": "FR"}, "FR"),
        ({"country": {"iso_code": "FR", "names": {"en": "France"}}}, "FR"),
        ({"country": "FR", "continent": "EU"}, "FR"),
        ({"country_code": "fr"}, "FR"),
        ({"country_code": "F"}, ""),
        ({"country_code": "ÄÖ"}, ""),
        ({"country_code": 5}, ""),
        ({"continent": {"code": "EU"}}, ""),
        ({}, ""),
        ("FR", ""),
        (None, ""),
    ],
)
def test_records_of_several_makers_are_read(record, country):
    assert geo._country(record) == country


def test_the_file_knows_both_kinds_of_addresses(folder, countries):
    (path,) = folder.iterdir()
    with maxminddb.open_database(path) as database:
        assert database.metadata().ip_version == 6
