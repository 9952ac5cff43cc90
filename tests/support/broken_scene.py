"""What an installation that does not work consists of."""

import re
import sqlite3
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from servers.postgres import PostgresServer
from servers.process import free_port
from servers.valkey import ValkeyServer
from support.migrated import copy_database


@dataclass
class Scene:
    """`names` are what the documentation writes for paths and ports of this test."""

    folder: Path  # the data folder
    template: Path
    postgres: PostgresServer
    valkey: ValkeyServer
    closing: ExitStack
    postgres_copy: Callable[[], str]  # the name of a database with the schema
    names: dict[str, str] = field(default_factory=dict)

    @property
    def database(self) -> Path:
        return self.folder / "kurz.db"

    def fill(self) -> None:
        """A data folder with a database."""
        copy_database(self.template, self.folder)

    def close(self, path: Path, mode: int) -> None:
        """Takes permissions away until the end of the test."""
        before = path.stat().st_mode
        path.chmod(mode)
        self.closing.callback(path.chmod, before)

    def shown(self, text: str) -> str:
        """As the documentation shows it."""
        for name, shown in self.names.items():
            text = text.replace(name, shown)
        return re.sub(r"\b20\d\d-\d\d-\d\d \d\d:\d\d\b", "…", text)


Environment = dict[str, str]
Break = Callable[[Scene], Environment]


def tell(scene: Scene, statement: str, *values: int | bytes) -> None:
    with sqlite3.connect(scene.database) as connection:
        connection.execute(statement, values)
    connection.close()


def unused_port(scene: Scene, shown: int) -> int:
    port = free_port()
    scene.names[f":{port}"] = f":{shown}"
    return port
