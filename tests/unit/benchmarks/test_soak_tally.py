"""Which answers `make soak` takes for right."""

import pytest

from soak_tally import Link, Tally

KEPT = 15.0


def link(**state: bool) -> Link:
    return Link(1, "abc", {"https://example.com/"}, expires_at=100.0, token=None, **state)


@pytest.mark.parametrize(
    ("sent_at", "received_at", "right"),
    [
        (98, 99.9, {302}),
        (99.9, 100.1, {302, 410}),
        (100, 100.1, {410}),
        (114, 114.9, {410}),
        (114, 115, {410, 404}),
        (99, 130, {302, 410, 404}),
    ],
)
def test_a_link_redirects_until_it_expires_and_is_gone_until_it_may_be_purged(
    sent_at, received_at, right
):
    assert link().statuses(sent_at, received_at, KEPT) == right


def test_a_link_that_is_being_deleted_may_be_missing_already():
    assert link(is_being_deleted=True).statuses(98, 99, KEPT) == {302, 404}
    assert link(is_deleted=True).statuses(98, 99, KEPT) == {302, 404}  # since it was sent


def test_the_tally_tells_rates_and_latencies():
    tally = Tally()
    tally.sent.update({"list": 3, "edit": 1})
    tally.latencies_ms.extend(range(1, 101))
    told = tally.told(seconds=2.0)
    assert (told["per_second"], told["redirect_p50_ms"], told["redirect_p99_ms"]) == (2, 50.5, 100)
    assert Tally().told(seconds=1.0)["redirect_p99_ms"] == 0
