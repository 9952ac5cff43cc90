"""The reaper, for administrators: Hybrid's `/api/admin/cleanup/stats`, and more of our own."""

from fastapi import APIRouter, Request

from kurz.api.acts import note
from kurz.api.callers import get_admin
from kurz.api.dependencies import context
from kurz.api.schemas.cleanup import (
    CleanupStats,
    JobRead,
    LeaseRead,
    ReaperRead,
    RuleRead,
    RunAsked,
    RunRead,
)
from kurz.api.schemas.problems import problems
from kurz.api.security import needs
from kurz.links.retention import PRESETS
from kurz.links.upkeep import ChoreState, Plan, ReaperState
from kurz.people.access import Permission
from kurz.scheduling import Lease, Run

router = APIRouter(tags=["admin"], responses=problems(401, 403, 503))

ADMIN = needs(Permission.ADMIN)


@router.get(
    "/api/admin/cleanup/stats",
    summary="Get cleanup statistics",
    operation_id="cleanup_stats",
    openapi_extra=ADMIN,
)
async def cleanup_stats(request: Request) -> CleanupStats:
    """Every instance returns the same numbers."""
    await get_admin(request)
    state = await context(request).upkeep.state()
    totals = state.totals
    return CleanupStats(
        last_cleanup_time=totals.last_ended_at,
        total_cleaned=totals.cleaned,
        last_batch_size=totals.last_batch,
        successful_runs=totals.successful_runs,
        failed_runs=totals.failed_runs,
        average_cleanup_ms=totals.average_ms,
        is_running=state.is_running,
        expired_waiting=state.waiting.total,
    )


@router.get(
    "/api/v1/admin/reaper",
    summary="Get the reaper's rules, next run and last runs",
    operation_id="get_reaper",
    openapi_extra=ADMIN,
)
async def get_reaper(request: Request) -> ReaperRead:
    await get_admin(request)
    upkeep = context(request).upkeep
    state, schedule = await upkeep.state(), upkeep.schedule
    return ReaperRead(
        is_enabled=schedule.is_enabled,
        is_running=state.is_running,
        interval_seconds=round(schedule.every.total_seconds()),
        window=None if schedule.window is None else str(schedule.window),
        has_archive=upkeep.plan.has_archive,
        preset=upkeep.preset,
        is_preset_changed=upkeep.plan.retention != PRESETS[upkeep.preset],
        rules=_rules(upkeep.plan, state),
        unmarked=state.waiting.unmarked,
        next_run_at=state.next_at,
        asked_at=None if state.lease is None else state.lease.asked_at,
        lease=_lease_read(state.lease) if state.is_running else None,
        runs=[_run_read(run) for run in await upkeep.last_runs()],
        jobs=[job_read(chore) for chore in await upkeep.chores()],
    )


@router.post(
    "/api/v1/admin/reaper/run",
    status_code=202,
    summary="Run the reaper now",
    operation_id="run_reaper",
    responses=problems(409),
    openapi_extra=ADMIN,
)
async def run_reaper(request: Request) -> RunAsked:
    """A process of the installation starts the run within seconds, at any time of day, even if the
    reaper is off. `GET /api/v1/admin/reaper` shows the result. If it is already running: 409
    `already-running`."""
    await note(request, await get_admin(request), "run-reaper")
    return RunAsked(asked_at=await context(request).upkeep.ask())


def _rules(plan: Plan, state: ReaperState) -> list[RuleRead]:
    return [
        RuleRead(
            ended=ended,
            after_seconds=None if rule.after is None else round(rule.after.total_seconds()),
            fate=rule.fate,
            waiting=state.waiting.by_kind.get(ended),
        )
        for ended, rule in plan.retention.items()
    ]


def job_read(chore: ChoreState) -> JobRead:
    return JobRead(
        job=chore.schedule.job,
        is_enabled=chore.schedule.is_enabled,
        interval_seconds=round(chore.schedule.every.total_seconds()),
        next_run_at=chore.next_at,
        last_run=None if chore.last_run is None else _run_read(chore.last_run),
        lease=_lease_read(chore.lease),
    )


def _lease_read(lease: Lease | None) -> LeaseRead | None:
    if lease is None:
        return None
    return LeaseRead(holder=lease.holder, taken_at=lease.taken_at, until=lease.until)


def _run_read(run: Run) -> RunRead:
    return RunRead(
        started_at=run.started_at,
        ended_at=run.ended_at,
        is_asked=run.is_asked,
        holder=run.holder,
        outcome=run.outcome,
        counts=dict(run.counts),
        reason=run.reason,
    )
