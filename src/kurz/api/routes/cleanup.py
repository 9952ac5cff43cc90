"""The reaper, for administrators: Hybrid's `/api/admin/cleanup/stats`, and more of our own."""

from fastapi import APIRouter, Request

from kurz.api.http.administrators import ADMINS, Admin, note
from kurz.api.http.dependencies import context
from kurz.api.schemas.cleanup import (
    CleanupStats,
    JobRead,
    LeaseRead,
    ReaperRead,
    RuleRead,
    RunRead,
    RunRequested,
)
from kurz.api.schemas.problems import problems
from kurz.links.ending.reaper_admin import PeriodicTaskState
from kurz.links.ending.retention import PRESETS
from kurz.scheduling import Lease, Run

router = APIRouter(tags=["admin"], responses=problems(401, 403, 503))


@router.get(
    "/api/admin/cleanup/stats",
    summary="Get cleanup statistics",
    dependencies=ADMINS,
)
async def cleanup_stats(request: Request) -> CleanupStats:
    """Every instance returns the same numbers."""
    state = await context(request).reaper_admin.state()
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
    dependencies=ADMINS,
)
async def get_reaper(request: Request) -> ReaperRead:
    reaper_admin = context(request).reaper_admin
    state, schedule = await reaper_admin.state(), reaper_admin.schedule
    return ReaperRead(
        is_enabled=schedule.is_enabled,
        is_running=state.is_running,
        interval_seconds=round(schedule.every.total_seconds()),
        window=None if schedule.window is None else str(schedule.window),
        has_archive=reaper_admin.plan.has_archive,
        preset=reaper_admin.preset,
        is_preset_changed=reaper_admin.plan.retention != PRESETS[reaper_admin.preset],
        rules=[RuleRead(**rule) for rule in reaper_admin.plan.view(state.waiting)],
        unmarked=state.waiting.unmarked,
        next_run_at=state.next_at,
        requested_at=None if state.lease is None else state.lease.requested_at,
        lease=_lease_read(state.lease) if state.is_running else None,
        runs=[_run_read(run) for run in await reaper_admin.last_runs()],
        jobs=[job_read(task) for task in await reaper_admin.periodic_tasks()],
    )


@router.post(
    "/api/v1/admin/reaper/run",
    status_code=202,
    summary="Run the reaper now",
    responses=problems(409),
)
async def run_reaper(request: Request, caller: Admin) -> RunRequested:
    """A process of the installation starts the run within seconds, at any time of day, even if the
    reaper is off. `GET /api/v1/admin/reaper` shows the result. If it is already running: 409
    `already-running`."""
    await note(request, caller, "run-reaper")
    return RunRequested(requested_at=await context(request).reaper_admin.ask())


def job_read(task: PeriodicTaskState) -> JobRead:
    return JobRead(
        job=task.schedule.job,
        is_enabled=task.schedule.is_enabled,
        interval_seconds=round(task.schedule.every.total_seconds()),
        next_run_at=task.next_at,
        last_run=None if task.last_run is None else _run_read(task.last_run),
        lease=_lease_read(task.lease),
    )


def _lease_read(lease: Lease | None) -> LeaseRead | None:
    return None if lease is None else LeaseRead.model_validate(lease, from_attributes=True)


def _run_read(run: Run) -> RunRead:
    return RunRead.model_validate(run, from_attributes=True)
