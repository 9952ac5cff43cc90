"""The reaper in the API."""

from pydantic import AwareDatetime, BaseModel, Field

from kurz.links.ending.retention import EndedKind, RetentionAction
from kurz.scheduling import RunOutcome


class CleanupStats(BaseModel):
    last_cleanup_time: AwareDatetime | None = Field(
        description="When the last successful run ended."
    )
    total_cleaned: int = Field(description="Links moved to the trash, archived or purged so far.")
    last_batch_size: int
    successful_runs: int
    failed_runs: int
    average_cleanup_ms: float = Field(description="Average over successful runs.")
    is_running: bool
    expired_waiting: int = Field(
        description="Links that are due for the next run. Counted up to 100,000 per kind."
    )


class RuleRead(BaseModel):
    """`waiting` is null where nothing is done, because links are kept permanently or there is no
    archive."""

    ended: EndedKind
    after_seconds: int | None = Field(description="null: kept permanently.")
    action: RetentionAction
    waiting: int | None


class RunRead(BaseModel):
    """`outcome` is null while the run is in progress. `counts` has the number of items per result;
    for links: `marked`, `trashed`, `archived`, `purged`."""

    started_at: AwareDatetime
    ended_at: AwareDatetime | None
    is_requested: bool = Field(description="Started by a person instead of the schedule.")
    holder: str = Field(description="Host, process ID and a random name.")
    outcome: RunOutcome | None
    counts: dict[str, int]
    reason: str | None


class LeaseRead(BaseModel):
    holder: str
    taken_at: AwareDatetime
    until: AwareDatetime


class JobRead(BaseModel):
    """Other background jobs. `lease` belongs to the run in progress."""

    job: str
    is_enabled: bool
    interval_seconds: int
    next_run_at: AwareDatetime | None = Field(description="null: the job is off.")
    last_run: RunRead | None = Field(description="null: no run yet.")
    lease: LeaseRead | None


class ReaperRead(BaseModel):
    is_enabled: bool
    is_running: bool
    interval_seconds: int
    window: str | None = Field(description="Hours of the day in which runs may start, UTC.")
    has_archive: bool
    preset: str = Field(description="`KURZ_RETENTION`.")
    is_preset_changed: bool = Field(description="At least one rule differs from the preset.")
    rules: list[RuleRead]
    unmarked: int = Field(description="Expired links that are not marked as expired yet.")
    next_run_at: AwareDatetime | None = Field(description="null: the reaper is off.")
    requested_at: AwareDatetime | None = Field(
        description="When the run that has not started yet was requested."
    )
    lease: LeaseRead | None = Field(description="The run in progress.")
    runs: list[RunRead] = Field(description="The last runs, newest first.")
    jobs: list[JobRead] = Field(
        description="Other jobs: `housekeeping`, `workspaces` (purges deleted workspaces),"
        " `domains` (checks their records), `bans` (applies account bans), `accounts` (moves the"
        " links of deleted accounts to the trash), `months` (adds up the clicks of past months)."
    )


class RunRequested(BaseModel):
    requested_at: AwareDatetime
