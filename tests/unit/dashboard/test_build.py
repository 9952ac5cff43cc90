"""Which files there are, and in which encoding each browser gets them."""

import json

import pytest

from kurz.dashboard.build import Files, NotBuilt

MANIFEST = {
    "src/early.ts": {"file": "assets/early-1.js"},
    "src/home/main.tsx": {
        "file": "assets/home-1.js",
        "imports": ["_shared.js", "_small.js"],
        "css": ["assets/home-1.css"],
        "dynamicImports": ["src/ui/Qr.tsx"],
    },
    "_shared.js": {
        "file": "assets/shared-1.js",
        "imports": ["_small.js"],
        "css": ["assets/shared-1.css"],
    },
    "_small.js": {"file": "assets/small-1.js"},
    "src/ui/Qr.tsx": {"file": "assets/qr-1.js", "css": ["assets/qr-1.css"]},
}


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "manifest.json").write_text(json.dumps(MANIFEST))
    assets = tmp_path / "assets"
    assets.mkdir()
    for name, text in {
        "home-1.js": "plain",
        "home-1.js.br": "brotli",
        "home-1.js.gz": "gzip",
        "home-1.css": "small",
        "notes.txt": "not ours",
    }.items():
        (assets / name).write_text(text)
    return tmp_path


@pytest.mark.parametrize(
    ("accepted", "encoding", "body"),
    [
        (b"", b"", b"plain"),
        (b"br", b"br", b"brotli"),
        (b"gzip, deflate, br, zstd", b"br", b"brotli"),
        (b"GZIP", b"gzip", b"gzip"),
        (b"br;q=0, gzip;q=0.5", b"gzip", b"gzip"),
        (b"br ; q=0.000,gzip ; q=0", b"", b"plain"),
        (b"identity", b"", b"plain"),
        (b"brotli, xgzip", b"", b"plain"),
        (b"*", b"", b"plain"),
        (b";;,=,\xff", b"", b"plain"),
    ],
)
def test_a_browser_gets_the_smallest_body_that_it_understands(folder, accepted, encoding, body):
    file = Files(folder).find("/assets/home-1.js")
    assert file is not None
    assert file.best(accepted) == (encoding, body)


def test_a_file_that_was_not_compressed_comes_as_it_is(folder):
    file = Files(folder).find("/assets/home-1.css")
    assert file is not None
    assert file.best(b"br, gzip") == (b"", b"small")


@pytest.mark.parametrize(
    "path",
    [
        "/assets/",
        "/assets/home-1.js.br",
        "/assets/notes.txt",
        "/assets/../manifest.json",
        "/manifest.json",
        "/assets/other.js",
    ],
)
def test_nothing_else_is_given_away(folder, path):
    assert Files(folder).find(path) is None


def test_a_page_loads_what_its_script_imports_but_not_what_comes_later(folder):
    entry = Files(folder).entry("src/home/main.tsx")
    assert entry.script == "/assets/home-1.js"
    assert entry.imports == ["/assets/small-1.js", "/assets/shared-1.js"]
    assert entry.styles == ["/assets/shared-1.css", "/assets/home-1.css"]


def test_a_folder_without_a_build_says_so(tmp_path):
    with pytest.raises(NotBuilt):
        Files(tmp_path)
