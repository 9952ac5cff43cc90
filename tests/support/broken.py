"""Installations that do not work, and what the documentation calls them."""

import socket
import time

from kurz.storage.engine.migrate import Migrations
from kurz.wiring.shared import namespace_of
from support import broken_services as services
from support.broken_scene import Break, Environment, Scene, tell

DAY_MICROS = 24 * 3600 * 1_000_000
FILE_LIMIT = 512


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


def closed_backups(scene: Scene) -> Environment:
    secret(scene)
    (scene.folder / "backups").mkdir()
    scene.close(scene.folder / "backups", 0o500)
    return {}


def journals_without_database(scene: Scene) -> Environment:
    """Somebody has removed the database only."""
    scene.folder.mkdir()
    secret_file(scene)
    (scene.folder / "journal").mkdir()
    (scene.folder / "journal" / "installation").write_text("0f1e2d3c4b5a6978\n")
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
    "The database file is not a SQLite database": other_file,
    "The database is damaged": damaged,
    "The database is from a newer version": newer,
    "There is no database yet": lambda _: {},
    "The folder `journal` is a file": file_of_journals,
    "The journals belong to another installation": foreign_journals,
    "The folder `backups` belongs to another user": closed_backups,
    "The database was removed, but not the journals": journals_without_database,
    "The clock is behind": clock_behind,
    "`KURZ_SECRET` is too short": lambda scene: good(scene, KURZ_SECRET="hidden"),
    "The file `secret` is too short": short_file,
    "The file `secret` cannot be read": unreadable_file,
    "The file `secret` is open to others": open_file,
    "PostgreSQL is down": services.postgres_down,
    "PostgreSQL's host name is wrong": services.postgres_unknown_host,
    "PostgreSQL rejects the password": services.postgres_password,
    "PostgreSQL does not have the database": services.postgres_database,
    "PostgreSQL does not offer TLS": services.postgres_tls,
    "PostgreSQL is a standby": services.postgres_standby,
    "The primary is down, and no standby was promoted yet": services.postgres_failover,
    "A replica was promoted": services.replica_promoted,
    "A replica is down": services.replica_down,
    "Redis is down": services.redis_down,
    "Redis rejects the password": services.redis_password,
    "Redis's certificate is not trusted": services.redis_certificate,
    "Redis's CA file is missing": services.redis_certificate_file,
    "Sentinel does not know the service": services.redis_service,
    "Another program uses the port": port_in_use,
    "The host is not an address of this machine": host_elsewhere,
    "A variable has a typo": typo,
    "A setting is invalid": lambda scene: good(scene, KURZ_PORT="99999"),
    "Settings of the reaper contradict each other": lambda scene: good(
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
    "`kurz.toml` has an unknown setting": toml("prot = 9000\n"),
    "A blocklist is missing": missing_list,
    "Few open files are allowed": good,
    "The server is public, but `KURZ_ACCESS` is not set": lambda scene: good(
        scene, KURZ_BASE_URL="https://go.example.com"
    ),
}


def secret(scene: Scene) -> None:
    scene.fill()
    secret_file(scene)


def secret_file(scene: Scene) -> None:
    path = scene.folder / "secret"
    path.write_text("0f1e2d3c4b5a69788796a5b4c3d2e1f0\n")
    path.chmod(0o600)


def postgres_at(scene: Scene, account: str, database: str) -> Environment:
    port = scene.postgres.port
    scene.names[f":{port}"] = ":5432"
    return {"KURZ_DATABASE_URL": f"postgresql://{account}@127.0.0.1:{port}/{database}"}
