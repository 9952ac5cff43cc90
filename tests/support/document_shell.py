"""Runs the commands of a document: `kurz` itself, and as much of `curl` and of a shell as the
documents use, so that nothing has to be installed for it."""

import http.client
import os
import re
import shlex
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from string import Template
from urllib.parse import urlsplit

from support import nursery
from support.document_outputs import translated
from support.documents import COMMENT

WITH_VALUE = {"-d", "-H", "-X", "-o", "-w", "--data-binary", "--retry"}
ALONE = {"-i", "-s", "-sf", "-N", "-OJ", "--retry-all-errors"}


class NotUnderstood(Exception):
    """Neither a command nor an option that is known here: teach it, or note why it is not run."""


@dataclass(frozen=True)
class Done:
    """`status` of HTTP, where it was asked."""

    code: int
    output: str
    status: int | None = None


@dataclass
class DocumentShell:
    """`replace`: what a document writes, and what is meant here. `serve` starts a server beside
    the one that runs, and gives what it printed."""

    folder: Path
    environment: dict[str, str]
    replace: dict[str, str]
    serve: Callable[[dict[str, str]], str]
    ask: Callable[[list[str], dict[str, str]], Done]
    learnt: dict[str, str] = field(default_factory=dict)

    def translate(self, text: str) -> str:
        return translated(text, {**self.replace, **self.learnt})

    def run(self, text: str) -> Done:
        done = Done(0, "")
        whole = re.sub(r"\\\n\s*", "", self.translate(COMMENT.sub("", text)))
        for part in re.split(r";\s", whole):
            first, _, then = part.partition(" | ")
            done = self._run_one(first)
            if then.strip() == "tail -1":
                done = Done(done.code, done.output.strip().splitlines()[-1] + "\n", done.status)
            elif then:
                raise NotUnderstood(then)
        return done

    def _run_one(self, text: str) -> Done:
        words = shlex.split(Template(text).safe_substitute(self.environment), comments=True)
        environment = dict(self.environment)
        while words and re.match(r"[A-Z0-9_]+=", words[0]):
            name, _, value = words.pop(0).partition("=")
            environment[name] = value
        match words:
            case []:
                self.environment = environment
                return Done(0, "")
            case ["export", *pairs]:
                self.environment |= dict(pair.split("=", 1) for pair in pairs)
                return Done(0, "")
            case ["sleep", seconds]:
                time.sleep(float(seconds) + 0.05)
                return Done(0, "")
            case ["make", "run"]:
                return Done(0, self.serve(environment))
            case ["kurz" | ".venv/bin/kurz", "serve", *flags] if environment.get("KURZ_PORT") in (
                None,
                "0",
            ):
                assert flags in ([], ["--workers", "4"]), flags
                return Done(0, self.serve(environment | ({"KURZ_WORKERS": "4"} if flags else {})))
            case ["kurz" | ".venv/bin/kurz", "admin", "create", _]:
                return self.ask(words[1:], environment)
            case ["kurz" | ".venv/bin/kurz", *arguments]:
                done = nursery.run(arguments, environment, folder=self.folder)
                return Done(done.returncode, (done.stdout + done.stderr).decode())
            case ["curl", *arguments]:
                return self._curl(arguments)
        raise NotUnderstood(text)

    def _curl(self, words: list[str]) -> Done:
        options: dict[str, list[str]] = {}
        urls = []
        while words:
            word = words.pop(0)
            if word in WITH_VALUE:
                options.setdefault(word, []).append(words.pop(0))
            elif word in ALONE:
                options[word] = []
            elif word.startswith("-"):
                raise NotUnderstood(word)
            else:
                urls.append(word)
        [url] = urls
        headers = dict(line.split(": ", 1) for line in options.get("-H", []))
        body = self._body(options)
        if body is not None:
            headers.setdefault("Content-Type", "application/x-www-form-urlencoded")
        [method] = options.get("-X", ["GET" if body is None else "POST"])
        parts = urlsplit(url)
        connection = http.client.HTTPConnection(parts.netloc, timeout=60)
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        connection.request(method, path, body, headers)
        answer = connection.getresponse()
        if "-N" in options:  # it would go on for ever
            text = answer.readline().decode() + answer.readline().decode()
        else:
            text = answer.read().decode()
        head = f"HTTP/1.1 {answer.status} {answer.reason}\n" + "".join(
            f"{name}: {value}\n" for name, value in answer.getheaders()
        )
        connection.close()
        return self._show(options, answer.status, head, text)

    def _body(self, options: dict[str, list[str]]) -> bytes | None:
        for name in ("-d", "--data-binary"):
            for value in options.get(name, []):
                if name == "--data-binary" and value.startswith("@"):
                    return (self.folder / value[1:]).read_bytes()
                return value.encode()
        return None

    def _show(self, options: dict[str, list[str]], status: int, head: str, text: str) -> Done:
        if "-i" in options:
            return Done(0, f"{head}\n{text}", status)
        if "-w" in options:
            [written] = options["-w"]
            return Done(0, written.replace("%{http_code}", str(status)).replace("\\n", "\n"), None)
        if "-o" in options:
            [name] = options["-o"]
            if name != os.devnull:
                (self.folder / name).write_text(text)
            return Done(int(status >= 400), "", status)
        return Done(int(status >= 400), text, status)
