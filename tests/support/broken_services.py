"""Installations whose PostgreSQL or Redis cannot be used."""

import asyncio
from pathlib import Path
from urllib.parse import urlsplit

from kurz.people.passwords import Passwords
from kurz.settings.model import Settings
from kurz.wiring.core import make_first_admin, open_kurz
from kurz.wiring.engine import prepare
from servers.postgres import PostgresPair
from servers.tls_proxy import TlsProxy
from servers.valkey import SERVICE, ValkeySentinels
from support.broken_scene import Environment, Scene, unused_port
from support.certificates import server_context


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
