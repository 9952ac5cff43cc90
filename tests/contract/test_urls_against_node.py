"""kurz and Node's `URL` agree on every URL that kurz accepts."""

import json
import random
import secrets
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from data.good_urls import GOOD
from data.hostile_urls import HOSTILE
from kurz.links import urls
from kurz.links.errors import UrlRefused

VECTORS = json.loads((Path(__file__).parents[1] / "data" / "vectors.json").read_text())
NODE = Path(sys.executable).with_name("node")
READER = """
const lines = require("node:readline").createInterface({ input: process.stdin });
lines.on("line", (line) => {
  const answer = JSON.parse(line).map((text) => {
    try {
      const url = new URL(text);
      return { protocol: url.protocol, hostname: url.hostname, port: url.port, href: url.href };
    } catch {
      return null;
    }
  });
  console.log(JSON.stringify(answer));
});
"""
# Seeds of the generated inputs: one that every run shares, and one of this run alone.
FIXED_SEED = 20_260_301
GENERATED = 3000

HOSTS = [
    *("example.com", "EXAMPLE.com", "a.b.c.example", "münchen.example", "faß.example", "localhost"),
    *("☃.example", "xn--mnchen-3ya.example", "127.0.0.1", "10.1", "0x7f.1", "2130706433", "[::1]"),
    *("[2001:DB8::A]", "[::ffff:1.2.3.4]", "[1:2:3:4:5:6:7:8]", "example.com.", "a_b.example"),
    *("İstanbul.example", "ǅ.example", "ﬃ.example", "пример.example", "مثال.example", "1.example"),
    *(
        "例え。テスト",
        "％４１.example",
        "ex%41mple.com",
        "%e4%b8%ad.example",
        "K.example",
        "ẞ.example",
    ),
    *("xn--a", "xn--zca.example", "XN--ZCA.example", "a\u200cb.example", "a\xadb.example"),
]
PORTS = ["", "", "", ":", ":80", ":443", ":8080", ":00080", ":0", ":65535", ":65536", ":x"]
SCHEMES = ["http://", "https://", "HTTP://", "HttpS://", "http:/", "https:", "ftp://", "http:\\\\"]
PIECES = [
    *("/", "/", "/", "a", "B", "c", "..", ".", "%2e", "%2E%2e", "%", "%41", "%zz", "%c3%bc", "ü"),
    *("路", "😀", "?", "&", "=", "#", "a=1", "b=2", "'", '"', "<", ">", "`", "{", "}", "|", "^"),
    *("~", "!", "$", "(", ")", "*", "+", ",", ";", ":", "@", "[", "]", "\xad", "\u200c", "\u2060"),
    *("\ufe0f", "\u0301", "\ufffd", "\ufffe", "\U0010ffff", "ÿ", "ß", "ſ"),
]
MUTATIONS = (
    "abzAZ09 .:/?#@%&=[]\\\t\n\r\x00\x7f-_~+*!'\"<>^|{}`"
    "\xa0\xadüßıİſKÅ。．１\u200b\u200c\u200d\u2028\u202e😀"
)


class Node:
    """One long-lived process; a batch of texts goes in and what `URL` made of them comes out."""

    def __init__(self) -> None:
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(
            [NODE, "--eval", READER], stdin=pipe, stdout=pipe, text=True, encoding="ascii"
        )

    def parse(self, texts: list[str]) -> list[dict[str, str] | None]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(texts) + "\n")
        self._process.stdin.flush()
        answers: list[dict[str, str] | None] = json.loads(self._process.stdout.readline())
        assert len(answers) == len(texts)
        return answers

    def close(self) -> int:
        with self._process as process:
            assert process.stdin is not None
            process.stdin.close()
        return process.returncode


@pytest.fixture(scope="module")
def node() -> Iterator[Node]:
    process = Node()
    yield process
    assert process.close() == 0


def generate(chance: random.Random) -> str:
    """By grammar, or a mutation of something from the corpus."""
    if chance.random() < 0.5:
        scheme = SCHEMES[0] if chance.random() < 0.5 else chance.choice(SCHEMES)
        tail = "".join(chance.choices(PIECES, k=chance.randrange(12)))
        separator = chance.choice(["/", "/", "/", "?", "#", ""])
        return scheme + chance.choice(HOSTS) + chance.choice(PORTS) + separator + tail
    text = list(chance.choice([*GOOD, *HOSTILE])[:200])
    for _ in range(chance.randrange(1, 4)):
        place = chance.randrange(len(text) + 1)
        text[place : place + chance.randrange(2)] = chance.choice([*MUTATIONS, ""])
    return "".join(text)


def generated(seed: int | str) -> list[str]:
    chance = random.Random(seed)
    return [generate(chance) for _ in range(GENERATED)]


def judged(url: str) -> urls.JudgedUrl | None:
    try:
        return urls.judge(url)
    except UrlRefused:
        return None


def parts(location: str) -> dict[str, str]:
    """What Node calls the parts of a URL, taken from a location by hand."""
    scheme, _, rest = location.partition("://")
    authority = rest.partition("/")[0]
    host, colon, port = authority.rpartition(":")
    if not colon or authority.endswith("]"):
        host, port = authority, ""
    return {"protocol": f"{scheme}:", "hostname": host, "port": port, "href": location}


def accepted(texts: Iterable[str]) -> list[urls.JudgedUrl]:
    return [judgement for text in texts if (judgement := judged(text)) is not None]


def agree(node_read: dict[str, str] | None, text: str, ours: str) -> bool:
    """This Node makes `xn--xn---xna` of `xn-ß-`, as it should, and then cannot read it."""
    if node_read is None:
        return "xn--xn--" in text
    return node_read == parts(ours)


def disagreements(node: Node, texts: Iterable[str]) -> list[Any]:
    """The accepted URLs that Node refuses or reads otherwise, in each of their forms."""
    found: list[Any] = []
    judgements = accepted(texts)
    originals = node.parse([judgement.original for judgement in judgements])
    locations = node.parse([judgement.location for judgement in judgements])
    canonicals = node.parse([judgement.canonical for judgement in judgements])
    for judgement, original, location, canonical in zip(
        judgements, originals, locations, canonicals, strict=True
    ):
        if not (
            agree(original, judgement.original, judgement.location)
            and agree(location, judgement.location, judgement.location)
            and agree(canonical, judgement.canonical, judgement.canonical)
        ):
            found.append((judgement, original, location, canonical))
    return found


@pytest.mark.parametrize(
    "corpus",
    [
        pytest.param([vector["url"] for vector in VECTORS], id="vectors"),
        pytest.param(GOOD, id="good"),
    ],
)
def test_node_reads_the_corpus_as_kurz_does(node, corpus):
    assert len(accepted(corpus)) == len(corpus)
    assert disagreements(node, corpus) == []


def test_what_node_refuses_kurz_refuses(node):
    texts = [*HOSTILE, *generated("refused")]
    refused = [
        text for text, answer in zip(texts, node.parse(texts), strict=True) if answer is None
    ]
    assert len(refused) > 500
    assert accepted(refused) == []


def test_node_reads_generated_urls_as_kurz_does(node):
    texts = generated(FIXED_SEED)
    assert len(set(texts)) > GENERATED * 0.9
    assert len(accepted(texts)) > GENERATED * 0.1
    assert disagreements(node, texts) == []


def test_node_reads_urls_of_a_fresh_seed_as_kurz_does(node):
    seed = secrets.randbits(32)
    assert disagreements(node, generated(seed)) == [], f"seed {seed}"
