"""An instance and its components in the API."""

from enum import StrEnum
from typing import Literal

from pydantic import AwareDatetime, BaseModel, Field

from kurz.api.schemas.cleanup import JobRead


class HealthStatus(StrEnum):
    OK = "ok"
    WARNING = "warning"
    ERROR = "error"


class HealthComponent(BaseModel):
    """The state of a component. `reason` is `ok`, or a word for what is wrong."""

    name: str = Field(examples=["redis"])
    status: HealthStatus
    reason: str = Field(examples=["out"])


class HealthRead(BaseModel):
    components: list[HealthComponent] = Field(
        description="Only components that exist: without Redis there is no `redis` entry."
    )


class InstanceRead(BaseModel):
    """The instance that answered. Numbers cover all its processes since it started."""

    version: str
    python: str
    host: str
    started_at: AwareDatetime
    workers: int = Field(description="Running workers.")
    workers_wanted: int
    jobs: int = Field(description="Running jobs processes.")
    connections: int
    connections_cap: int = Field(description="Maximum number of open connections.")
    connections_closed_early: int = Field(
        description="Idle or unfinished connections closed to make room for others."
    )
    connections_refused: int = Field(description="Connections refused because all were in use.")
    requests_refused: int = Field(description="API requests answered with `overloaded`.")
    redirects: int
    api_errors: int = Field(description="API responses with a status of 500 or above.")


class DatabaseRead(BaseModel):
    """`version` and `schema_version` are null while the database does not answer; `problem` says
    why, or that the schema has another version. The pool is that of PostgreSQL, over all
    workers."""

    engine: str = Field(examples=["SQLite", "PostgreSQL"])
    version: str | None
    schema_version: str | None
    problem: str | None
    has_write_ahead_log: bool
    replicas: int
    connections: int
    in_use: int
    waiting: int = Field(description="Calls waiting for a connection.")
    timeouts: int
    workers_failing: int = Field(description="Workers whose last write to SQLite failed.")


class RedisRead(BaseModel):
    is_up: bool
    kind: str = Field(examples=["server", "sentinel", "cluster"])
    workers_disconnected: int = Field(
        description="Workers that have stopped using Redis for now, because it does not answer."
    )
    hits: int
    misses: int
    errors: int


class MemoryRead(BaseModel):
    """Links that workers keep in memory."""

    links: int
    bytes: int
    visits: int
    lookups: int
    hit_rate: float | None = Field(description="0 to 1; null before the first visit.")


class JournalRead(BaseModel):
    """Clicks that are recorded but not counted yet."""

    backlog_bytes: int
    backlog_segments: int
    oldest_seconds: int = Field(description="Age of the oldest click that is not counted yet.")
    recorded: int
    counted: int
    dropped: int = Field(
        description="Clicks that could not be recorded, including those before the last start."
    )
    dropped_since_start: int = Field(
        description="Clicks that could not be recorded since the instance started."
    )
    workers_failing: int = Field(description="Workers that currently cannot record clicks.")
    errors: int = Field(description="Failed attempts to write or count a journal.")
    damaged_bytes: int


class FeedRead(BaseModel):
    """How workers learn about changes made by others."""

    workers_stale: int
    age_seconds: int = Field(description="Of the worker that is furthest behind.")
    wake_ups: int
    lost_connections: int


class DiskRead(BaseModel):
    """Disk of the data folder."""

    folder: str
    total_bytes: int
    free_bytes: int


class ListRead(BaseModel):
    role: str = Field(examples=["block", "allow"])
    path: str
    rules: int
    bad_lines: int
    problem: str | None = Field(description="Why the list cannot be read.")
    changed_at: AwareDatetime | None = Field(
        description="Date of the file, if it can be determined."
    )


class ListsRead(BaseModel):
    hosts: int = Field(description="Hosts and URLs in all lists.")
    refuses_shorteners: bool
    workers_unsure: int = Field(
        description="Workers that cannot use all lists, so visitors of new links see a warning."
    )
    files: list[ListRead]


class BackupRead(BaseModel):
    """Scheduled backups."""

    target: str = Field(examples=["/mnt/backups", "s3://bucket/kurz"])
    interval_seconds: int
    last_good_at: AwareDatetime | None = Field(
        description="When the last good backup was complete; null: there is none yet."
    )
    last_bytes: int | None
    damaged_links: int = Field(
        description="Links in the last good backup whose destination changed without a write."
    )
    failure: str | None = Field(description="Why the last attempt failed; null if it did not.")


class RunningInstanceRead(BaseModel):
    """One running `kurz serve`."""

    id: str = Field(description="Random; a new one after each start.")
    version: str
    schema_version: str = Field(description="The schema that this version works with.")
    seen_at: AwareDatetime


class SystemSettingsRead(BaseModel):
    """Values from the settings."""

    access: str = Field(examples=["public", "private"])
    base_url: str | None
    trusted_proxies: list[str]
    are_limits_on: bool
    are_checks_on: bool
    is_secret_shared: bool = Field(
        description="Whether several instances can accept the same tokens."
    )
    retention: str
    archive: str | None
    abuse_contact: str | None


class SystemRead(BaseModel):
    """`redis` is null if none is configured, `backup` if there are no scheduled backups, and
    `disk` if the folder cannot be read. `jobs`, `backup` and `instances` are null while the
    database does not answer."""

    measured_at: AwareDatetime
    health: HealthRead
    instance: InstanceRead
    database: DatabaseRead
    redis: RedisRead | None
    memory: MemoryRead
    journal: JournalRead
    feed: FeedRead
    jobs: list[JobRead] | None
    backup: BackupRead | None
    instances: list[RunningInstanceRead] | None = Field(
        description="All instances that use the database and were seen within the last minute."
    )
    forwarding: Literal["nobody", "some"] | None = Field(
        description="What a proxy on the same machine does wrong: it sends no visitor's address"
        " in X-Forwarded-For (`nobody`), or only some (`some`). null: no problem was noticed since"
        " the start."
    )
    disk: DiskRead | None
    lists: ListsRead
    settings: SystemSettingsRead
