"""The clock of a process: whatever happens to the machine's, it does not go back."""

import time
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kurz.clock import TOLERATED_NS, EarliestClock, SteadyClock, from_micros, to_micros
from support.machine import HOUR, SECOND, Machine


@pytest.fixture
def machine() -> Machine:
    return Machine()


def test_it_starts_with_the_machines_time_and_moves_with_it(machine):
    clock = machine.clock()
    assert clock.now() == datetime(2026, 3, 1, 12, tzinfo=UTC)
    machine.wait(90 * SECOND)
    assert clock.now() == datetime(2026, 3, 1, 12, 1, 30, tzinfo=UTC)
    assert clock.micros() == to_micros(clock.now())


def test_a_real_one_tells_the_time():
    before, micros, after = time.time_ns(), SteadyClock().micros(), time.time_ns()
    assert before // 1000 - 1 <= micros <= after // 1000 + 1


def test_setting_the_machines_clock_back_changes_nothing(machine):
    clock = machine.clock()
    machine.wait(10 * SECOND)
    expected = clock.micros()
    machine.wall_ns -= 8 * HOUR
    assert clock.micros() == expected  # at once, not only when somebody looks
    assert clock.follow(machine.wall_ns) == 8 * HOUR
    assert clock.micros() == expected
    machine.wait(SECOND)
    assert clock.micros() == expected + 1_000_000


def test_setting_it_forward_is_followed_and_so_is_setting_it_right_again(machine):
    clock = machine.clock()
    right = clock.micros()
    machine.wall_ns += 8 * HOUR
    assert clock.follow(machine.wall_ns) == 0
    assert clock.micros() == right + 8 * HOUR // 1000
    machine.wall_ns -= 8 * HOUR
    assert clock.follow(machine.wall_ns) == 0
    assert clock.micros() == right


@pytest.mark.parametrize("step", [8 * HOUR, -8 * HOUR])
def test_what_cannot_be_undone_goes_by_the_earlier_clock(machine, step):
    clock = machine.clock()
    right = clock.micros()
    machine.wall_ns += step
    assert clock.earliest_micros() == EarliestClock(clock).micros() == right + min(step, 0) // 1000
    assert EarliestClock(clock).now() == from_micros(clock.earliest_micros())


def test_up_to_a_second_makes_no_difference(machine):
    clock = machine.clock()
    before = clock.micros()
    for step in (TOLERATED_NS, -TOLERATED_NS):
        assert clock.follow(machine.wall_ns + step) == 0
        assert clock.micros() == before
    clock.follow(machine.wall_ns + TOLERATED_NS + 1000)
    assert clock.micros() == before + TOLERATED_NS // 1000 + 1


def test_small_steps_do_not_add_up(machine):
    clock = machine.clock()
    start = clock.micros()
    for _ in range(10):
        machine.wall_ns += TOLERATED_NS // 2
        clock.follow(machine.wall_ns)
    assert clock.micros() - start >= 4 * TOLERATED_NS // 1000


def test_the_time_that_the_machine_slept_has_passed(machine):
    clock = machine.clock()
    before = clock.micros()
    machine.sleep(HOUR)
    machine.wall_ns -= 2 * HOUR
    clock.follow(machine.wall_ns)
    assert clock.micros() == before + HOUR // 1000
    machine.sleep(HOUR)
    clock.align()
    assert clock.micros() == before + 2 * HOUR // 1000


def test_a_better_clock_at_the_start_counts_in_both_directions(machine):
    clock = machine.clock()
    for instant_ns in (machine.wall_ns - 8 * HOUR, machine.wall_ns + 8 * HOUR):
        clock.begin(instant_ns)
        assert clock.micros() == instant_ns // 1000


@given(st.lists(st.tuples(st.integers(0, HOUR), st.integers(-9 * HOUR, 9 * HOUR), st.booleans())))
def test_it_is_never_behind_what_has_passed_since_the_start(steps):
    machine = Machine()
    clock = machine.clock()
    start, boot_ns = clock.micros(), machine.boot_ns
    for passed, step, is_asleep in steps:
        (machine.sleep if is_asleep else machine.wait)(passed)
        machine.wall_ns += step
        ahead_ns = clock.follow(machine.wall_ns)
        assert clock.micros() - start >= (machine.boot_ns - boot_ns) // 1000
        assert abs(clock.micros() * 1000 - ahead_ns - machine.wall_ns) <= TOLERATED_NS + 1000
