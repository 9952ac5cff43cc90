"""The reaper as the API tells of it."""

from pydantic import AwareDatetime, BaseModel, Field

from kurz.links.retention import Ended, Fate
from kurz.scheduling import Outcome


class CleanupStats(BaseModel):
    last_cleanup_time: AwareDatetime | None = Field(
        description="When the last successful run ended."
    )
    total_cleaned: int = Field(
        description="Links that were moved to the trash, archived or purged, ever."
    )
    last_batch_size: int
    successful_runs: int
    failed_runs: int
    average_cleanup_ms: float = Field(description="Of the successful runs.")
    is_running: bool
    expired_waiting: int = Field(
        description="Links for the next run; no more than 100,000 of each kind are counted."
    )


class RuleRead(BaseModel):
    """`waiting` is null where nothing is done, because links stay for ever or there is no
    archive."""

    ended: Ended
    after_seconds: int | None = Field(description="null: they stay for ever.")
    fate: Fate
    waiting: int | None


class RunRead(BaseModel):
    """`outcome` is null while it runs. `counts` has what became of how many; of the reaper's links:
    `marked`, `trashed`, `archived`, `purged`."""

    started_at: AwareDatetime
    ended_at: AwareDatetime | None
    is_asked: bool = Field(description="Somebody told it to run.")
    holder: str = Field(description="Host, process and a random name.")
    outcome: Outcome | None
    counts: dict[str, int]
    reason: str | None


class LeaseRead(BaseModel):
    holder: str
    taken_at: AwareDatetime
    until: AwareDatetime


class JobRead(BaseModel):
    """What else is done now and then. `lease` is that of a run that goes on."""

    job: str
    is_enabled: bool
    interval_seconds: int
    next_run_at: AwareDatetime | None = Field(description="null: it is switched off.")
    last_run: RunRead | None = Field(description="null: there was none yet.")
    lease: LeaseRead | None


class ReaperRead(BaseModel):
    is_enabled: bool
    is_running: bool
    interval_seconds: int
    window: str | None = Field(description="The part of the day that runs begin in, UTC.")
    has_archive: bool
    preset: str = Field(description="`KURZ_RETENTION`.")
    is_preset_changed: bool = Field(description="Some rule is set by itself, and not as it says.")
    rules: list[RuleRead]
    unmarked: int = Field(description="Expired links whose rows do not say so yet.")
    next_run_at: AwareDatetime | None = Field(description="null: it is switched off.")
    asked_at: AwareDatetime | None = Field(
        description="Since when somebody waits for a run that has not begun."
    )
    lease: LeaseRead | None = Field(description="The run that goes on.")
    runs: list[RunRead] = Field(description="The last ones, the newest first.")
    jobs: list[JobRead] = Field(
        description="Beside the reaper: `housekeeping`, `workspaces` (purges deleted ones),"
        " `domains` (looks for their records), `bans` (carries out those of people)."
    )


class RunAsked(BaseModel):
    asked_at: AwareDatetime
