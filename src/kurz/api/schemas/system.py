"""An instance and what it stands on, as the API tells of it."""

from enum import StrEnum

from pydantic import AwareDatetime, BaseModel, Field

from kurz.api.schemas.cleanup import JobRead


class Light(StrEnum):
    GOOD = "good"
    WARY = "wary"
    BAD = "bad"


class Lamp(BaseModel):
    """How something is. `reason` says why, in a word: `ok`, or what is wrong."""

    about: str = Field(examples=["redis"])
    light: Light
    reason: str = Field(examples=["out"])


class InstanceRead(BaseModel):
    """The instance that answered; the numbers are of all its processes, since it started."""

    version: str
    python: str
    host: str
    started_at: AwareDatetime
    workers: int = Field(description="Those that live.")
    workers_wanted: int
    jobs: int = Field(description="Jobs processes that live.")
    connections: int
    connections_cap: int = Field(description="As many connections can be open.")
    connections_closed_early: int = Field(
        description="Idle or unfinished connections closed to make room for others."
    )
    connections_refused: int = Field(description="Because all others were in use.")
    requests_refused: int = Field(
        description="Requests of the API that were answered with `overloaded`."
    )
    redirects: int
    api_errors: int = Field(description="Answers of the API with a status of 500 or above.")


class DatabaseRead(BaseModel):
    """`version` and `schema_version` are null while it does not answer; `problem` says why, or
    that the schema is another version's. The pool is that of PostgreSQL, over all workers."""

    engine: str = Field(examples=["SQLite", "PostgreSQL"])
    version: str | None
    schema_version: str | None
    problem: str | None
    has_write_ahead_log: bool
    replicas: int
    connections: int
    in_use: int
    waiting: int = Field(description="Calls that wait for a connection.")
    timeouts: int
    workers_failing: int = Field(description="Workers whose last write to SQLite failed.")


class RedisRead(BaseModel):
    is_up: bool
    kind: str = Field(examples=["server", "sentinel", "cluster"])
    workers_without: int = Field(
        description="Workers that leave it alone for the moment, because it does not answer."
    )
    hits: int
    misses: int
    errors: int


class MemoryRead(BaseModel):
    """Links that workers have in memory."""

    links: int
    bytes: int
    visits: int
    look_ups: int
    hit_rate: float | None = Field(description="0 to 1; null before the first visit.")


class JournalRead(BaseModel):
    """Clicks on their way from the journal to the counts."""

    backlog_bytes: int
    backlog_segments: int
    oldest_seconds: int = Field(description="Since the oldest click that is not counted yet.")
    recorded: int
    counted: int
    dropped: int = Field(description="Clicks that could not be recorded, before the start too.")
    dropped_since_start: int = Field(description="Those of them since the instance started.")
    workers_failing: int = Field(description="Workers that cannot record clicks at the moment.")
    errors: int = Field(description="Times that a journal could not be written or counted.")
    damaged_bytes: int


class FeedRead(BaseModel):
    """How workers hear of changes by others."""

    workers_deaf: int
    age_seconds: int = Field(description="Of the worker that is furthest behind.")
    wake_ups: int
    lost_connections: int


class DiskRead(BaseModel):
    """Of the data folder."""

    folder: str
    total_bytes: int
    free_bytes: int


class ListRead(BaseModel):
    role: str = Field(examples=["block", "allow"])
    path: str
    rules: int
    bad_lines: int
    problem: str | None = Field(description="Why it cannot be read.")
    changed_at: AwareDatetime | None = Field(description="The file, as far as it can be seen.")


class ListsRead(BaseModel):
    hosts: int = Field(description="Hosts and URLs in all of them.")
    refuses_shorteners: bool
    workers_unsure: int = Field(
        description="Workers that cannot ask all lists, so that visitors of new links are warned."
    )
    files: list[ListRead]


class ChosenRead(BaseModel):
    """What the settings say."""

    access: str = Field(examples=["public", "private"])
    base_url: str | None
    trusted_proxies: list[str]
    are_limits_on: bool
    are_checks_on: bool
    is_secret_shared: bool = Field(description="Several instances may accept the same tokens.")
    retention: str
    archive: str | None
    abuse_contact: str | None


class SystemRead(BaseModel):
    """`redis` is null where none is configured, `disk` where the folder cannot be looked at, and
    `jobs` while the database does not answer."""

    told_at: AwareDatetime
    lamps: list[Lamp] = Field(description="Only of what there is: no Redis, no lamp.")
    instance: InstanceRead
    database: DatabaseRead
    redis: RedisRead | None
    memory: MemoryRead
    journal: JournalRead
    feed: FeedRead
    jobs: list[JobRead] | None
    disk: DiskRead | None
    lists: ListsRead
    chosen: ChosenRead
