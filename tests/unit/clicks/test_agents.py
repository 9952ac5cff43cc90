"""What user agents are taken for."""

import pytest
from crawlerdetect import CrawlerDetect
from hypothesis import given, settings
from hypothesis import strategies as st

from kurz.clicks.agents import MAX_NAME_LENGTH
from kurz.clicks.counts import VisitKind
from kurz.clicks.crawlers import Crawlers
from kurz.clicks.previews import PREVIEWS
from kurz.clicks.trimming import MAX_USER_AGENT_BYTES
from support.user_agents import ROWS

CHROME = (
    "Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko)"
    " Chrome/{version}.0.0.0 Mobile Safari/537.36"
)
WORDS = [
    "Mozilla/5.0",
    "(Windows NT 10.0)",
    "Chrome/120.0",
    "Safari/537.36",
    "Yandex",
    "YandexSearch",
    "cubot",
    "; B bot",
    "wget",
    "Googlebot/2.1",
    "compatible",
    "Linux",
    "bot",
    "Android 14",
]


@pytest.fixture(scope="module")
def crawlers() -> Crawlers:
    return Crawlers()


@pytest.mark.parametrize(("sort", "browser", "system", "device", "text"), ROWS)
def test_user_agents_of_the_table(agents, sort, browser, system, device, text):
    agent = agents.get(text.encode())
    assert agent[:4] == (sort, browser, system, device)
    is_person = sort == VisitKind.PERSON
    assert agent.keys == (
        (f"b{browser}", f"o{system}", f"d{device}") if is_person else (f"n{browser}",)
    )


def test_the_table_has_every_sort_and_device():
    assert {row[0] for row in ROWS} == {VisitKind.PERSON, VisitKind.BOT, VisitKind.PREVIEW}
    assert {row[3] for row in ROWS} == {"desktop", "phone", "tablet", "tv", "other", ""}


def test_the_table_has_every_preview():
    assert {row[1] for row in ROWS if row[0] == VisitKind.PREVIEW} == {name for _, name in PREVIEWS}


@pytest.mark.parametrize("nothing", [b"", b"   ", b"\t"])
def test_who_says_nothing_is_a_bot(agents, nothing):
    assert agents.get(nothing) == (VisitKind.BOT, "", "", "", ("n",))


@pytest.mark.parametrize("size", range(0, 120, 9))
def test_a_browser_that_is_cut_short_is_no_bot(agents, size):
    text = CHROME.format(version=129)
    assert agents.get(text[: len(text) - size].encode()).sort == VisitKind.PERSON


@given(st.one_of(st.binary(max_size=MAX_USER_AGENT_BYTES), st.text(max_size=80).map(str.encode)))
def test_whatever_was_sent_names_are_short_and_plain(agents, data):
    agent = agents.get(data)
    for name in agent[:4]:
        assert name.isascii()
        assert name.isprintable()
        assert len(name) <= MAX_NAME_LENGTH
        assert name != "*"


@pytest.mark.parametrize(
    "hostile", ["bot\r\nX: y", "\x00bot", "é" * 200 + "bot", "<script>Bot/1.0", "*", "*bot"]
)
def test_names_hold_nothing_that_was_not_meant(agents, hostile):
    agent = agents.get(hostile.encode())
    assert not set(agent.browser) & set('\r\n\0<>"é*')


def test_the_same_outcome_is_kept_once(agents):
    first, second = (CHROME.format(version=version).encode() for version in (128, 129))
    assert agents.get(first) is agents.get(second)


@settings(max_examples=50)
@given(st.lists(st.sampled_from(WORDS), max_size=6).map(" ".join))
def test_crawlers_are_those_of_the_list(crawlers, text):
    assert (crawlers.find(text) is not None) == CrawlerDetect().is_crawler(text)
