"""Installations that do not work, and what the documentation calls them."""

import asyncio
import re
import socket
import sqlite3
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from kurz.people.passwords import Passwords
from kurz.settings.model import Settings
from kurz.storage.engine.migrate import Migrations
from kurz.wiring.core import make_first_admin, open_kurz
from kurz.wiring.engine import prepare
from kurz.wiring.shared import namespace_of
from servers.postgres import PostgresPair, PostgresServer
from servers.process import free_port
from servers.tls_proxy import TlsProxy
from servers.valkey import SERVICE, ValkeySentinels, ValkeyServer
from support.certificates import server_context
from support.migrated import copy_database

DAY_MICROS = 24 * 3600 * 1_000_000
FILE_LIMIT = 512


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


def unwritable(scene: Scene) -> Environment:
    scene.fill()
    scene.close(scene.folder, 0o555)
    return {}


def closed(scene: Scene) -> Environment:
    scene.fill()
    scene.close(scene.folder, 0)
    return {}


def uncreatable(scene: Scene) -> Environment:
    scene.names[str(scene.folder.parent)] = "/srv"
    scene.close(scene.folder.parent, 0o555)
    return {}


def file(scene: Scene) -> Environment:
    scene.folder.write_text("no folder")
    return {}


def foreign_database(scene: Scene) -> Environment:
    scene.fill()
    scene.close(scene.database, 0)
    return {}


def other_file(scene: Scene) -> Environment:
    scene.folder.mkdir()
    scene.database.write_text("no database\n" * 1000)
    return {}


def damaged(scene: Scene) -> Environment:
    scene.fill()
    with scene.database.open("r+b") as opened:
        opened.seek(100)  # behind the header: the root of the schema
        opened.write(bytes(3900))
    return {}


def newer(scene: Scene) -> Environment:
    scene.fill()
    tell(scene, "UPDATE alembic_version SET version_num = '9999'")
    scene.names |= {"9999": "…", Migrations().head: "…"}
    return {}


def clock_behind(scene: Scene) -> Environment:
    scene.fill()
    later = time.time_ns() // 1000 + DAY_MICROS
    tell(scene, "INSERT INTO leases (name, holder, taken_at, until) VALUES ('x', 'x', ?, 1)", later)
    return {}


def short_file(scene: Scene) -> Environment:
    scene.fill()
    (scene.folder / "secret").write_text("short\n")
    return {}


def unreadable_file(scene: Scene) -> Environment:
    secret(scene)
    scene.close(scene.folder / "secret", 0)
    return {}


def open_file(scene: Scene) -> Environment:
    secret(scene)
    (scene.folder / "secret").chmod(0o644)
    return {}


def postgres_down(scene: Scene) -> Environment:
    port = unused_port(scene, 5432)
    return {"KURZ_DATABASE_URL": f"postgresql://kurz:hidden@127.0.0.1:{port}/kurz"}


def postgres_unknown_host(_: Scene) -> Environment:
    return {"KURZ_DATABASE_URL": "postgresql://kurz:hidden@db.invalid/kurz"}


def postgres_password(scene: Scene) -> Environment:
    hba = Path(scene.postgres.ask("SHOW hba_file"))
    before = hba.read_text()
    scene.postgres.ask("CREATE ROLE locked LOGIN PASSWORD 'right'")
    hba.write_text(f"host all locked 127.0.0.1/32 scram-sha-256\n{before}")
    scene.postgres.ask("SELECT pg_reload_conf()")
    scene.closing.callback(scene.postgres.ask, "DROP ROLE locked")
    scene.closing.callback(hba.write_text, before)
    return postgres_at(scene, "locked:hidden", "postgres")


def postgres_database(scene: Scene) -> Environment:
    return postgres_at(scene, "postgres", "none")


def postgres_tls(scene: Scene) -> Environment:
    return postgres_at(scene, "postgres", "postgres?sslmode=require")


def redis_down(scene: Scene) -> Environment:
    scene.fill()
    return {"KURZ_REDIS_URL": f"redis://:hidden@127.0.0.1:{unused_port(scene, 6379)}/0"}


def redis_password(scene: Scene) -> Environment:
    scene.fill()
    scene.names[f":{scene.valkey.port}"] = ":6379"
    return {"KURZ_REDIS_URL": f"redis://somebody:hidden@127.0.0.1:{scene.valkey.port}/0"}


def redis_certificate(scene: Scene) -> Environment:
    """Of a CA that nobody was told to trust."""
    scene.fill()
    context = server_context(scene.folder.parent, "localhost")
    proxy = scene.closing.enter_context(TlsProxy(scene.valkey.port, context))
    scene.names[f":{proxy.port}"] = ":6379"
    return {"KURZ_REDIS_URL": f"rediss://:hidden@localhost:{proxy.port}/0"}


def redis_certificate_file(scene: Scene) -> Environment:
    scene.fill()
    path = scene.folder.parent / "ca.pem"
    scene.names |= {str(path): "/etc/ca.pem", f":{scene.valkey.port}": ":6379"}
    port = scene.valkey.port
    return {"KURZ_REDIS_URL": f"rediss://:hidden@localhost:{port}/0?ssl_ca_certs={path}"}


def redis_service(scene: Scene) -> Environment:
    scene.fill()
    sentinels = scene.closing.enter_context(ValkeySentinels())
    shown = zip(sentinels.sentinels, (26379, 26380, 26381), strict=True)
    scene.names |= {f":{server.port}": f":{port}" for server, port in shown}
    return {"KURZ_REDIS_URL": sentinels.url.replace(f"/{SERVICE}/", "/links/")}


def postgres_standby(scene: Scene) -> Environment:
    """As the only server that is named."""
    pair, database = postgres_pair(scene)
    scene.names[f":{pair.standby.port}"] = ":5432"
    return {"KURZ_DATABASE_URL": pair.standby.url(database)}


def postgres_failover(scene: Scene) -> Environment:
    """The primary has failed, and nobody has promoted the standby yet."""
    pair, database = postgres_pair(scene)
    address = f"127.0.0.1:{pair.primary.port},{urlsplit(pair.standby.url()).netloc.split('@')[1]}"
    scene.names |= {f":{pair.primary.port}": ":5432", f":{pair.standby.port}": ":5433"}
    pair.primary.kill()
    return {"KURZ_DATABASE_URL": f"postgresql://postgres@{address}/{database}"}


def replica_promoted(scene: Scene) -> Environment:
    """Any other primary is the same."""
    scene.names[f":{scene.postgres.port}"] = ":5432"
    url = scene.postgres.url(scene.postgres_copy())
    return {"KURZ_DATABASE_URL": url, "KURZ_DATABASE_REPLICA_URLS": url}


def replica_down(scene: Scene) -> Environment:
    port = unused_port(scene, 5432)
    url = scene.postgres.url(scene.postgres_copy())
    replica = f"postgresql://kurz:hidden@127.0.0.1:{port}/kurz"
    return {"KURZ_DATABASE_URL": url, "KURZ_DATABASE_REPLICA_URLS": replica}


def file_of_journals(scene: Scene) -> Environment:
    scene.fill()
    (scene.folder / "journal").write_text("no folder")
    return {}


def foreign_journals(scene: Scene) -> Environment:
    """Of the database that was there before."""
    scene.fill()
    tell(scene, "INSERT INTO installation (name, value) VALUES ('id-key', ?)", b"k" * 32)
    scene.names[namespace_of(b"k" * 32)] = "1f0c9a1f0c9a1f0c"
    secret_file(scene)
    (scene.folder / "journal").mkdir()
    (scene.folder / "journal" / "installation").write_text("another one\n")
    return {}


def port_in_use(scene: Scene) -> Environment:
    scene.fill()
    listener = scene.closing.enter_context(socket.create_server(("127.0.0.1", 0)))
    port = listener.getsockname()[1]
    scene.names[f":{port}"] = ":8080"
    return {"KURZ_PORT": str(port)}


def host_elsewhere(scene: Scene) -> Environment:
    scene.fill()
    return {"KURZ_HOST": "192.0.2.1", "KURZ_PORT": "8080"}


def typo(scene: Scene) -> Environment:
    scene.fill()
    return {"KURZ_BASEURL": "https://go.example.com"}


def toml(text: str) -> Break:
    def write(scene: Scene) -> Environment:
        path = scene.folder.parent / "kurz.toml"
        path.write_text(text)
        scene.names[str(path)] = "/etc/kurz.toml"
        return {"KURZ_CONFIG": str(path)}

    return write


def missing_list(scene: Scene) -> Environment:
    scene.fill()
    path = scene.folder.parent / "blocklist.txt"
    scene.names[str(path)] = "/etc/blocklist.txt"
    return {"KURZ_BLOCKLISTS": str(path)}


def good(scene: Scene, **environment: str) -> Environment:
    scene.fill()
    return environment


def full_disk(scene: Scene) -> Environment:
    """Only its folder: what is full is mounted around the command (`on_full_disk`)."""
    scene.folder.mkdir()
    return {}


def on_full_disk(command: list[str], scene: Scene) -> list[str]:
    """The same command with a disk of its own, which anyone may mount in a namespace."""
    script = (
        'mount -t tmpfs -o size=1m tmpfs "$0"; cat /dev/zero > "$0/filler" 2> /dev/null; exec "$@"'
    )
    return ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", script,
            str(scene.folder), *command]  # fmt: skip


SITUATIONS: dict[str, Break] = {
    "The data folder cannot be written to": unwritable,
    "The data folder cannot be entered": closed,
    "The data folder cannot be created": uncreatable,
    "The data folder is a file": file,
    "The disk is full": full_disk,
    "The database belongs to another user": foreign_database,
    "The database is another kind of file": other_file,
    "The database is damaged": damaged,
    "The database is from a newer version": newer,
    "There is no database yet": lambda _: {},
    "The journals are a file": file_of_journals,
    "The journals are those of another installation": foreign_journals,
    "The clock is behind": clock_behind,
    "`KURZ_SECRET` is too short": lambda scene: good(scene, KURZ_SECRET="hidden"),
    "The file `secret` is too short": short_file,
    "The file `secret` cannot be read": unreadable_file,
    "The file `secret` is open to others": open_file,
    "PostgreSQL is down": postgres_down,
    "PostgreSQL's host name is wrong": postgres_unknown_host,
    "PostgreSQL rejects the password": postgres_password,
    "PostgreSQL does not have the database": postgres_database,
    "PostgreSQL has no TLS": postgres_tls,
    "PostgreSQL is a standby": postgres_standby,
    "No standby was promoted yet": postgres_failover,
    "A replica was promoted": replica_promoted,
    "A replica is down": replica_down,
    "Redis is down": redis_down,
    "Redis rejects the password": redis_password,
    "Redis's certificate is not trusted": redis_certificate,
    "Redis's CA file is missing": redis_certificate_file,
    "Sentinel does not know the service": redis_service,
    "Another program uses the port": port_in_use,
    "The host is no address of this machine": host_elsewhere,
    "A variable has a typo": typo,
    "A setting is invalid": lambda scene: good(scene, KURZ_PORT="99999"),
    "Numbers of the reaper contradict each other": lambda scene: good(
        scene, KURZ_REAPER_AT_LEAST="1h"
    ),
    "The first administrator has no password": lambda scene: good(
        scene, KURZ_ADMIN_EMAIL="ada@example.com"
    ),
    "The first administrator's password is too common": lambda scene: good(
        scene, KURZ_ADMIN_EMAIL="ada@example.com", KURZ_ADMIN_PASSWORD="password"
    ),
    "The root workspace does not exist": lambda scene: good(scene, KURZ_ROOT_WORKSPACE="team"),
    "`kurz.toml` is not valid TOML": toml("port 9000\n"),
    "`kurz.toml` has an unknown name": toml("prot = 9000\n"),
    "A blocklist is missing": missing_list,
    "Few open files are allowed": good,
    "A public server, only by default": lambda scene: good(
        scene, KURZ_BASE_URL="https://go.example.com"
    ),
}


def tell(scene: Scene, statement: str, *values: int | bytes) -> None:
    with sqlite3.connect(scene.database) as connection:
        connection.execute(statement, values)
    connection.close()


def secret(scene: Scene) -> None:
    scene.fill()
    secret_file(scene)


def secret_file(scene: Scene) -> None:
    path = scene.folder / "secret"
    path.write_text("0f1e2d3c4b5a69788796a5b4c3d2e1f0\n")
    path.chmod(0o600)


def unused_port(scene: Scene, shown: int) -> int:
    port = free_port()
    scene.names[f":{port}"] = f":{shown}"
    return port


def postgres_pair(scene: Scene) -> tuple[PostgresPair, str]:
    """A primary and its standby, and the name of a database with the schema and an administrator:
    what is left to do at the start needs no write."""
    pair = scene.closing.enter_context(PostgresPair(synchronous=False, fsync="off"))
    pair.primary.create_database("kurz")
    settings = Settings(
        data_dir=scene.folder,
        database_url=pair.primary.url("kurz"),
        admin_email="ada@example.com",
        admin_password="correct horse battery",
    )
    asyncio.run(prepare_with_admin(settings))
    pair.catch_up()
    return pair, "kurz"


async def prepare_with_admin(settings: Settings) -> None:
    await prepare(settings, upgrades_postgres=False)
    async with open_kurz(settings, passwords=Passwords(cost=4)) as kurz:
        await make_first_admin(kurz)


def postgres_at(scene: Scene, account: str, database: str) -> Environment:
    port = scene.postgres.port
    scene.names[f":{port}"] = ":5432"
    return {"KURZ_DATABASE_URL": f"postgresql://{account}@127.0.0.1:{port}/{database}"}
