"""The cookie of a browser that has signed in before."""

from datetime import timedelta

import pytest

from kurz.people.devices import LIFE, Devices
from kurz.people.keyring import Keys
from support.clock import FrozenClock

EMAIL = "ada@example.com"


@pytest.fixture
def clock() -> FrozenClock:
    return FrozenClock()


def test_a_cookie_names_one_account_and_counts_for_no_other(clock):
    devices = Devices(Keys(b"key"), clock)
    cookie = devices.issue(7, 3, EMAIL)
    device = devices.read(cookie, EMAIL)
    assert device is not None
    assert (device.account_id, device.epoch) == (7, 3)
    assert devices.read(cookie, "bob@example.com") is None
    assert Devices(Keys(b"other key"), clock).read(cookie, EMAIL) is None
    assert "example" not in cookie
    again = devices.read(devices.issue(7, 3, EMAIL), EMAIL)
    assert again is not None
    assert again.id != device.id


def test_a_cookie_of_an_earlier_key_is_known_and_new_ones_have_the_current_key(clock):
    earlier, current = Devices(Keys(b"earlier"), clock), Devices(Keys(b"current"), clock)
    both = Devices(Keys(b"current", (b"earlier",)), clock)
    assert both.read(earlier.issue(7, 3, EMAIL), EMAIL) is not None
    assert current.read(both.issue(7, 3, EMAIL), EMAIL) is not None
    assert earlier.read(both.issue(7, 3, EMAIL), EMAIL) is None


def test_no_part_of_a_cookie_can_be_changed(clock):
    devices = Devices(Keys(b"key"), clock)
    cookie = devices.issue(7, 3, EMAIL)
    for place, letter in enumerate(cookie):
        other = "1" if letter != "1" else "2"
        assert devices.read(cookie[:place] + other + cookie[place + 1 :], EMAIL) is None
    for text in ("", "1", cookie[:-1], f"{cookie}0", f" {cookie}", "1.1.1.1.é", "9" * 5000):
        assert devices.read(text, EMAIL) is None


def test_a_cookie_ends_after_half_a_year(clock):
    devices = Devices(Keys(b"key"), clock)
    cookie = devices.issue(7, 3, EMAIL)
    clock.advance(seconds=(LIFE - timedelta(seconds=1)).total_seconds())
    assert devices.read(cookie, EMAIL) is not None
    clock.advance(seconds=1)
    assert devices.read(cookie, EMAIL) is None
