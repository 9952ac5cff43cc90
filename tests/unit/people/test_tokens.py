"""Session tokens: ours are read, and nothing else is (threats T12 to T14)."""

import json
from base64 import urlsafe_b64decode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kurz.people.errors import CredentialRefused
from kurz.people.keyring import Keys
from kurz.people.tokens import LEEWAY_SECONDS, MAX_LENGTH, Tokens
from support.clock import FrozenClock
from support.forged_tokens import DAY, FORGERIES, Forger

KEY = bytes(range(32))


@pytest.fixture
def tokens(clock):
    return Tokens(Keys(KEY), clock)


@pytest.fixture
def forger(clock):
    return Forger(KEY, clock)


def decoded(part: str) -> dict[str, object]:
    found: dict[str, object] = json.loads(urlsafe_b64decode(part + "=" * (-len(part) % 4)))
    return found


def test_there_are_enough_forgeries():
    assert len(FORGERIES) >= 60


@pytest.mark.parametrize("name", FORGERIES)
def test_a_forged_token_is_refused(tokens, forger, name):
    with pytest.raises(CredentialRefused):
        tokens.read(FORGERIES[name](forger))


def test_every_forgery_is_refused_with_the_same_words(tokens, forger):
    said = set()
    for forge in FORGERIES.values():
        with pytest.raises(CredentialRefused) as refused:
            tokens.read(forge(forger))
        said.add(refused.value.detail)
    assert len(said) == 1


def test_the_forger_would_succeed_with_nothing_wrong(tokens, forger):
    """Else the forgeries could be refused for another reason than their name says."""
    claims = tokens.read(forger.good())
    assert (claims.account_id, claims.epoch) == (7, 0)


def test_our_own_token_is_read(tokens, clock):
    token, expires_at = tokens.issue(2**53 - 1, 3)
    claims = tokens.read(token)
    assert (claims.account_id, claims.epoch) == (2**53 - 1, 3)
    assert (expires_at - clock.now()).total_seconds() == DAY
    assert len(token) < MAX_LENGTH / 2


def test_a_token_says_what_it_has_to_and_no_more(tokens, clock):
    header, payload, _ = tokens.issue(7, 0)[0].split(".")
    assert decoded(header) == {"alg": "HS256", "typ": "kurz+jwt"}
    claims = decoded(payload)
    assert len(str(claims.pop("jti"))) == 22
    now = int(clock.now().timestamp())
    assert claims == {
        "iss": "kurz",
        "aud": "kurz-api",
        "sub": "7",
        "iat": now,
        "exp": now + DAY,
        "epoch": 0,
    }


def test_no_two_tokens_have_the_same_id(tokens):
    ids = {tokens.read(tokens.issue(7, 0)[0]).token_id for _ in range(200)}
    assert len(ids) == 200


def test_a_token_of_another_installation_is_refused(tokens, clock):
    token, _ = Tokens(Keys(KEY[::-1]), clock).issue(7, 0)
    with pytest.raises(CredentialRefused):
        tokens.read(token)


def test_tokens_of_an_earlier_key_are_read_and_those_of_the_current_one_issued(clock):
    earlier, current = Tokens(Keys(KEY), clock), Tokens(Keys(KEY[::-1]), clock)
    both = Tokens(Keys(KEY[::-1], (KEY,)), clock)
    assert both.read(earlier.issue(7, 0)[0]).account_id == 7
    assert current.read(both.issue(8, 0)[0]).account_id == 8
    with pytest.raises(CredentialRefused):
        earlier.read(both.issue(8, 0)[0])
    with pytest.raises(CredentialRefused):
        both.read(Tokens(Keys(b"x" * 32), clock).issue(7, 0)[0])


@pytest.mark.parametrize("seconds", [0, 1, 29, -1, -29, -DAY + 1, -DAY, -DAY - 29])
def test_clocks_may_differ_by_29_seconds(tokens, forger, seconds):
    assert tokens.read(forger.shifted(seconds)).account_id == 7


@pytest.mark.parametrize("seconds", [31, 3600, -DAY - 31, -DAY - 3600])
def test_clocks_may_not_differ_by_31_seconds(tokens, forger, seconds):
    with pytest.raises(CredentialRefused):
        tokens.read(forger.shifted(seconds))


def test_a_token_ends_after_24_hours_and_the_leeway(tokens, clock):
    token, _ = tokens.issue(7, 0)
    ends_at = tokens.read(token).expires_at
    clock.advance(days=1, seconds=29)
    assert tokens.read(token).expires_at == ends_at > clock.now().timestamp()
    clock.advance(seconds=2)
    with pytest.raises(CredentialRefused):
        tokens.read(token)
    assert ends_at <= clock.now().timestamp()
    assert LEEWAY_SECONDS == 30


def test_a_fraction_of_a_second_does_not_make_a_token_of_the_future(tokens, clock):
    clock.advance(microseconds=999_999)
    assert tokens.read(tokens.issue(7, 0)[0]).account_id == 7


@given(st.text(max_size=200))
def test_any_text_is_refused_and_nothing_else_happens(text):
    with pytest.raises(CredentialRefused):
        Tokens(Keys(KEY), FrozenClock()).read(text)


@given(st.data())
def test_a_token_with_any_one_letter_changed_is_refused(data):
    tokens = Tokens(Keys(KEY), FrozenClock())
    token, _ = tokens.issue(7, 0)
    position = data.draw(st.integers(0, len(token) - 1))
    letter = data.draw(st.characters().filter(lambda letter: letter != token[position]))
    with pytest.raises(CredentialRefused):
        tokens.read(token[:position] + letter + token[position + 1 :])
