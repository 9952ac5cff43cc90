"""What is behind the changes that were heard of is not believed."""

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from kurz.freshness.recent_writes import RecentWrites
from kurz.freshness.routes import SPACE_ENDED, Change
from support.links import route

END = Change(0, 0, "-7", SPACE_ENDED)


def change(link_id: int, version: int, code: str = "abc", workspace_id: int = 0) -> Change:
    return Change(link_id, workspace_id, code, version)


def test_what_nothing_was_heard_of_is_believed():
    recent_writes = RecentWrites()
    recent_writes.on_changes([(5, change(1, 2, "other")), (6, change(1, 2, "abc", workspace_id=7))])
    assert recent_writes.is_current(0, "abc", route(1, 1), 0)
    assert recent_writes.is_current(0, "abc", None, 6)


def test_an_older_version_another_link_and_an_absence_are_not():
    recent_writes = RecentWrites()
    recent_writes.on_changes([(5, change(1, 3))])
    assert not recent_writes.is_current(0, "abc", route(1, 2), 5)
    assert not recent_writes.is_current(0, "abc", route(2, 8), 5)
    assert not recent_writes.is_current(0, "abc", None, 5)
    assert recent_writes.is_current(0, "abc", route(1, 3), 5)
    assert recent_writes.is_current(0, "abc", route(1, 4), 5)


def test_own_changes_count_before_they_are_read_back():
    recent_writes = RecentWrites()
    recent_writes.on_changes([(5, change(2, 1, "other")), (0, change(1, 2))])
    assert not recent_writes.is_current(0, "abc", route(1, 1), 5)
    assert recent_writes.is_current(0, "abc", route(1, 2), 5)


def test_what_was_read_before_its_space_ended_is_not_current():
    recent_writes = RecentWrites()
    recent_writes.on_changes([(4, change(1, 2, "other")), (5, END), (6, change(1, 3, "other"))])
    assert not recent_writes.is_current(0, "abc", route(1, 1, space=-7), 4)
    assert recent_writes.is_current(0, "abc", route(1, 1, space=-7), 5)
    assert recent_writes.is_current(0, "abc", route(1, 1, space=-8), 4)
    assert recent_writes.is_current(0, "abc", None, 4)


def test_the_end_of_a_space_counts_before_it_is_read_back_and_longer_than_it_is_remembered():
    recent_writes = RecentWrites(max_writes=2)
    recent_writes.on_changes([(4, change(1, 2, "other")), (0, END)])
    found = route(1, 1, space=-7)
    assert not recent_writes.is_current(0, "abc", found, 4)
    recent_writes.on_changes([(5, END)])
    assert recent_writes.is_current(0, "abc", found, 5)
    recent_writes.on_changes([(number, change(1, number, "other")) for number in (6, 7, 8)])
    assert not recent_writes.is_current(0, "abc", found, 5)  # its number is not known any more
    assert recent_writes.is_current(0, "abc", found, 6)


def test_a_change_that_is_heard_late_lowers_nothing():
    recent_writes = RecentWrites()
    recent_writes.on_changes([(5, change(1, 3)), (4, change(1, 2))])
    assert not recent_writes.is_current(0, "abc", route(1, 2), 5)


def test_what_was_read_before_the_first_change_at_hand_is_not_believed():
    recent_writes = RecentWrites(max_writes=2)
    recent_writes.on_changes(
        [(number, change(number, 2, f"code-{number}")) for number in (3, 4, 5, 6)]
    )
    assert not recent_writes.is_current(0, "code-3", route(3, 1), 3)  # its floor is gone
    assert recent_writes.is_current(0, "code-3", route(3, 2), 4)
    assert not recent_writes.is_current(0, "any", route(9, 1), 3)
    assert not recent_writes.is_current(0, "code-6", route(6, 1), 6)


def test_what_was_read_from_a_log_that_is_ahead_is_not_believed():
    """It may be a log that was lost since."""
    recent_writes = RecentWrites()
    recent_writes.on_changes([(5, change(1, 2))])
    assert recent_writes.is_current(0, "any", route(9, 1), 5)
    assert not recent_writes.is_current(0, "any", route(9, 1), 6)


def test_own_changes_are_not_pushed_out_before_they_are_read_back():
    recent_writes = RecentWrites(max_writes=2)
    recent_writes.on_changes([(0, change(1, 2))])
    recent_writes.on_changes(
        [(number, change(number, 2, f"code-{number}")) for number in range(3, 9)]
    )
    assert not recent_writes.is_current(0, "abc", route(1, 1), 8)


def test_starting_over_believes_nothing_from_before():
    recent_writes = RecentWrites()
    recent_writes.on_changes([(5, change(1, 2)), (0, change(2, 2, "own"))])
    recent_writes.reset(100)
    assert recent_writes.position == 100
    assert not recent_writes.is_current(0, "any", route(9, 1), 99)
    assert recent_writes.is_current(0, "abc", route(1, 1), 100)
    assert recent_writes.required_position(0) == 100


def test_a_list_has_to_hold_the_last_change_of_its_workspace():
    recent_writes = RecentWrites()
    recent_writes.reset(2)
    recent_writes.on_changes([(5, change(1, 2)), (7, change(2, 1, "x", workspace_id=3))])
    assert (
        recent_writes.required_position(0),
        recent_writes.required_position(3),
        recent_writes.required_position(4),
    ) == (5, 7, 2)


def test_a_list_waits_for_the_numbers_of_own_changes():
    recent_writes = RecentWrites()
    recent_writes.on_changes([(0, change(1, 2)), (0, change(2, 1, "x"))])
    assert recent_writes.required_position(0) is None
    recent_writes.on_changes([(5, change(1, 2))])
    assert recent_writes.required_position(0) is None
    recent_writes.on_changes([(6, change(2, 1, "x"))])
    assert recent_writes.required_position(0) == 6


@given(
    st.lists(st.integers(0, 5), min_size=1, max_size=60),
    st.integers(0, 60),
    st.integers(1, 8),
)
def test_whatever_is_admitted_is_as_new_as_what_was_heard(
    writes: Sequence[int], read_at: int, max_writes: int
):
    """Links 0 to 5 are written in turn, and each is read when the log stands somewhere."""
    recent_writes = RecentWrites(max_writes)
    versions = dict.fromkeys(range(6), 1)
    seen = dict(versions)  # by who reads at `read_at`
    for number, link_id in enumerate(writes, 1):
        versions[link_id] += 1
        if number <= read_at:
            seen[link_id] = versions[link_id]
        recent_writes.on_changes([(number, change(link_id, versions[link_id], f"code-{link_id}"))])
    position = min(read_at, len(writes))
    for link_id, version in seen.items():
        is_admitted = recent_writes.is_current(
            0, f"code-{link_id}", route(link_id, version), position
        )
        assert not is_admitted or version == versions[link_id]
        if position == len(writes):
            assert is_admitted
