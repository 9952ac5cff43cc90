"""Somebody who changes links, workspaces and domains at one or more programs."""

import itertools
import time
from collections.abc import Sequence
from contextlib import ExitStack
from datetime import datetime
from typing import Any, Self

from servers.dns import DnsServer
from support.every_worker import EveryWorker
from support.people import PASSWORD
from support.program import Program

API = "/api/v1"


class Author:
    """An account with one connection to each of several programs of an installation."""

    def __init__(self, programs: Sequence[Program]) -> None:
        self.names = (f"name{number:04}" for number in range(100_000))
        self._closing = ExitStack()
        self._programs = itertools.cycle(programs)
        self._all = [self._closing.enter_context(program.client()) for program in programs]
        self._clients = itertools.cycle(self._all)
        person = {"email": "ada@example.com", "password": PASSWORD}
        token = self.ask("POST", "/auth/register", person)["token"]
        self.headers = {"authorization": f"Bearer {token}"}
        for client in self._all:
            client.headers.update(self.headers)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._closing.close()

    def ask(self, method: str, path: str, body: object = None) -> Any:
        """Of the next program."""
        answer = next(self._clients).request(method, API + path, json=body)
        assert answer.is_success, answer.text
        return answer.json() if answer.content else None

    def command(self, *arguments: str) -> None:
        """The command line beside the next program."""
        next(self._programs).run(*arguments)


class Editor:
    """Somebody with an account who changes things, each time at the next program, and looks at
    every worker after each change."""

    def __init__(self, author: Author, workers: EveryWorker) -> None:
        self._ask = author.ask
        self._command = author.command
        self._workers = workers
        self._names = author.names

    def change_a_link(self, *, expires: bool) -> None:
        """All that can be done to a link; 9 changes, and 2 more if it expires, which takes a
        second."""
        know, learn = self._workers.know, self._workers.learn
        code, other = next(self._names), next(self._names)
        first, second = f"https://example.com/{code}/1", f"https://example.com/{code}/2"
        know(f"/{code}", 404)
        made = self._ask("POST", "/links", {"original_url": first, "custom_code": code})
        learn("create", time.monotonic(), f"/{code}", 302, first)
        path = f"/links/{made['id']}"
        self._ask("PATCH", path, {"original_url": second})
        learn("edit the destination", time.monotonic(), f"/{code}", 302, second)
        self._ask("PATCH", path, {"redirect_status": 308})
        learn("edit the status", time.monotonic(), f"/{code}", 308, second)
        self._ask("PATCH", path, {"is_paused": True})
        learn("pause", time.monotonic(), f"/{code}", 404)
        self._ask("PATCH", path, {"is_paused": False})
        learn("resume", time.monotonic(), f"/{code}", 308, second)
        know(f"/{other}", 404)
        self._ask("PATCH", path, {"custom_code": other})
        since = time.monotonic()
        learn("edit the code: new", since, f"/{other}", 308, second)
        learn("edit the code: old", since, f"/{code}", 404)
        self._ask("POST", "/links", {"original_url": first, "custom_code": code})
        learn("create under an old code", time.monotonic(), f"/{code}", 302, first)
        if expires:
            self._expire(path, other, second)
            self._ask("POST", f"{path}/restore")
            learn("restore an expired one", time.monotonic(), f"/{other}", 308, second)
        self._ask("DELETE", path)
        learn("delete", time.monotonic(), f"/{other}", 404)
        self._ask("POST", f"{path}/restore")
        learn("restore a deleted one", time.monotonic(), f"/{other}", 308, second)

    def _expire(self, path: str, code: str, location: str) -> None:
        """Edits the end, and sees it come: not before it is due, and then everywhere."""
        link = self._ask("PATCH", path, {"expires_in": 1})
        due = time.monotonic() + datetime.fromisoformat(link["expires_at"]).timestamp()
        due -= time.time()
        self._workers.know(f"/{code}", 308, location)
        assert time.monotonic() < due, "too slow to see it alive"
        time.sleep(max(due - time.monotonic(), 0))
        self._workers.learn("expire", due, f"/{code}", 410)

    def change_by_command(self) -> None:
        """The same by the command line, beside the server; 5 changes."""
        code = next(self._names)
        first, second = f"https://example.com/{code}/1", f"https://example.com/{code}/2"
        self._workers.know(f"/{code}", 404)
        self._run("create", f"/{code}", 302, first, first, "--code", code)
        self._run("edit", f"/{code}", 302, second, code, "--url", second)
        self._run("edit", f"/{code}", 307, second, code, "--redirect-status", "307")
        self._run("delete", f"/{code}", 404, None, code)
        self._run("restore", f"/{code}", 307, second, code)

    def _run(self, act: str, path: str, status: int, location: str | None, *arguments: str) -> None:
        self._command(act, *arguments)
        self._workers.learn(f"kurz {act}", time.monotonic(), path, status, location)

    def change_a_workspace(self, dns: DnsServer) -> None:
        """Its slug, its domain, its end; 6 changes."""
        know, learn = self._workers.know, self._workers.learn
        slug, new_slug = next(self._names), next(self._names)
        host = f"{slug}.example.com"
        know(f"/@{slug}/sale", 404)
        team = self._ask("POST", "/workspaces", {"name": slug, "slug": slug})
        links = f"/workspaces/{team['id']}/links"
        url = f"https://example.com/{slug}"
        self._ask("POST", links, {"original_url": url, "custom_code": "sale"})
        learn("make a workspace", time.monotonic(), f"/@{slug}/sale", 302, url)
        know(f"/@{new_slug}/sale", 404)
        self._ask("PATCH", f"/workspaces/{team['id']}", {"slug": new_slug})
        learn("rename a workspace", time.monotonic(), f"/@{new_slug}/sale", 302, url)
        know("/sale", 404, host=host)  # at the root, as every host is
        domains = f"/workspaces/{team['id']}/domains"
        domain = self._ask("POST", domains, {"host": host})
        dns.put(domain["record_name"], domain["record_value"])
        self._ask("POST", f"{domains}/{host}/verify")
        learn("verify a domain", time.monotonic(), "/sale", 302, url, host=host)
        self._ask("DELETE", f"/workspaces/{team['id']}")
        since = time.monotonic()
        learn("delete a workspace: slug", since, f"/@{new_slug}/sale", 404)
        learn("delete a workspace: domain", since, "/sale", 404, host=host)
        self._ask("POST", f"/workspaces/{team['id']}/restore")
        since = time.monotonic()
        learn("restore a workspace: slug", since, f"/@{slug}/sale", 302, url)
        learn("restore a workspace: domain", since, "/sale", 302, url, host=host)
        self._ask("DELETE", f"{domains}/{host}")
        learn("remove a domain", time.monotonic(), "/sale", 404, host=host)

    def change_everything(
        self,
        dns: DnsServer,
        *,
        links: int = 0,
        expiries: int = 0,
        commands: int = 0,
        workspaces: int = 0,
    ) -> None:
        """So many rounds of each kind."""
        for number in range(links):
            self.change_a_link(expires=number < expiries)
        for _ in range(commands):
            self.change_by_command()
        for _ in range(workspaces):
            self.change_a_workspace(dns)
