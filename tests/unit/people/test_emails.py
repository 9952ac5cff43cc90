"""E-mail addresses: one spelling for each, and none that deceives a reader."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kurz.people.accounts import MAX_EMAIL_LENGTH, normalise_email
from kurz.people.errors import EmailRefused


@pytest.mark.parametrize(
    ("given_email", "kept"),
    [
        ("ada@example.com", "ada@example.com"),
        ("Ada@Example.COM", "ada@example.com"),
        ("  ada@example.com\t\n", "ada@example.com"),
        ("\u3000ada@example.com\u00a0", "ada@example.com"),
        ("ada+tag@example.com", "ada+tag@example.com"),
        ("a.d.a@example.com", "a.d.a@example.com"),
        ("ada@localhost", "ada@localhost"),
        ("ada@MÜLLER.de", "ada@xn--mller-kva.de"),
        ("ada@mu\u0308ller.de", "ada@xn--mller-kva.de"),
        ("ada@XN--MLLER-KVA.de", "ada@xn--mller-kva.de"),
        ("ada@ｅｘａｍｐｌｅ.com", "ada@example.com"),
        ("ada@example。com", "ada@example.com"),
        ("ÄDA@example.com", "äda@example.com"),
        ("a\u0308da@example.com", "äda@example.com"),
        ("\u212ada@example.com", "kda@example.com"),  # the sign of the Kelvin is a K
        ("J\u030c@example.com", "\u01f0@example.com"),  # one character only when small
        ("o'neil@example.com", "o'neil@example.com"),
    ],
)
def test_an_address_has_one_spelling(given_email, kept):
    assert normalise_email(given_email) == kept


@pytest.mark.parametrize(
    "email",
    [
        "",
        " ",
        "@",
        "ada",
        "ada@",
        "@example.com",
        "ada@@example.com",
        "ada@example.com@evil.example",
        "ada@example.com,eve@evil.example",
        "ada@example.com;eve@evil.example",
        "ada@example.com eve@evil.example",
        "ada@example.com\neve@evil.example",
        "ada@example.com\r\nBcc: eve@evil.example",
        "Ada <ada@example.com>",
        "<ada@example.com>",
        '"ada"@example.com',
        "ada(eve)@example.com",
        "ada@[127.0.0.1]",
        "ada@[IPv6:::1]",
        "ada@example..com",
        "ada@.example.com",
        "ada@example.com.",
        "ada@exa mple.com",
        "ada@exam_ple.com",
        "ada@-example.com",
        "ada@example/../com",
        "ada@example.com:25",
        "ada\0@example.com",
        "ada@example.com\0",
        "ada\u200b@example.com",  # a space of no width
        "ada\u202e@example.com",  # turns the direction of reading
        "ada@exam\u00adple.com",  # a hyphen that is not shown
        "ada@exam\u200dple.com",
        "\ufeffada@example.com",
        "ada\ud800@example.com",
        "a" * 65 + "@example.com",
        "ada@" + "a" * 64 + ".com",
        "ada@" + "a.b." * 62 + "com",
        "ada@" + ".".join(["ü"] * 100),  # short as it is typed, not as it is kept
        "\u0130" * 64 + "@example.com",  # two characters each when small
        "ada＠example.com",
    ],
    ids=ascii,
)
def test_what_is_no_address_is_refused(email):
    with pytest.raises(EmailRefused):
        normalise_email(email)


@given(
    st.builds(
        "{}@{}".format,
        st.text(min_size=1, max_size=70),
        st.text(min_size=1, max_size=70) | st.just("Example.com"),
    )
    | st.emails()
)
def test_what_is_kept_is_its_own_spelling(email):
    try:
        kept = normalise_email(email)
    except EmailRefused:
        return
    assert normalise_email(kept) == kept
    assert len(kept) <= MAX_EMAIL_LENGTH
    assert kept.isprintable()
    assert kept.rpartition("@")[2].isascii()
