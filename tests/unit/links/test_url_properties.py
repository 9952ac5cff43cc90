"""What holds for every URL: canonical forms, locations and fragments."""

from hypothesis import example, given, settings
from hypothesis import strategies as st

from kurz.links import urls
from support.url_strategies import LOCATION, addresses, host_of, judged, names_of, queries, query_of


@given(st.one_of(st.text(), st.text(st.characters(codec=None)), addresses()))
@settings(max_examples=500)
def test_judging_arbitrary_text_gives_a_verdict(text):
    judgement = judged(text)
    if judgement is not None:
        assert judgement.original == text


@given(addresses())
@settings(max_examples=400)
@example("https://h/a/./")
@example("https://h//..//")
def test_the_canonical_form_is_idempotent(url):
    judgement = judged(url)
    if judgement is not None:
        again = urls.judge(judgement.canonical)
        assert (again.location, again.canonical) == (judgement.canonical, judgement.canonical)


@given(addresses())
@settings(max_examples=400)
def test_a_location_is_plain_ascii_and_judged_alike(url):
    judgement = judged(url)
    if judgement is not None:
        assert LOCATION.fullmatch(judgement.location)
        again = urls.judge(judgement.location)
        assert (again.location, again.canonical) == (judgement.location, judgement.canonical)


@given(addresses())
@settings(max_examples=400)
def test_a_canonical_form_has_no_fragment_slash_or_disorder(url):
    judgement = judged(url)
    if judgement is None:
        return
    canonical = judgement.canonical
    assert "#" not in canonical
    path = canonical.partition("?")[0].partition("://")[2].partition("/")[2]
    assert not path.endswith("/")
    if "?" in canonical:
        names = names_of(query_of(canonical))
        assert names == sorted(names)
        assert "" not in query_of(canonical).split("&")
    assert host_of(canonical) == host_of(judgement.location)


@given(queries())
def test_sorting_keeps_every_piece_and_the_order_of_equal_names(query):
    pieces = [piece for piece in query.split("&") if piece]
    kept = query_of(urls.judge(f"https://h/?{query}").canonical).split("&")
    assert sorted(kept) == sorted(pieces or [""])
    for name in {piece.partition("=")[0] for piece in pieces}:
        assert [p for p in kept if p.partition("=")[0] == name] == [
            p for p in pieces if p.partition("=")[0] == name
        ]


@given(addresses())
def test_a_fragment_does_not_change_the_canonical_form(url):
    judgement = judged(url.partition("#")[0])
    other = judged(url.partition("#")[0] + "#top")
    if judgement is not None and other is not None:
        assert other.canonical == judgement.canonical
        assert other.location.endswith("#top")
