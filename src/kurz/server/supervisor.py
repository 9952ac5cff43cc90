"""The parent of all processes of `kurz serve`: it holds the listening socket and serves nobody.

It is synchronous, with no thread, event loop or database connection, so that it can fork at any
time. It starts workers and the jobs process, starts them again when they end, renews them on
SIGHUP and ends them on SIGTERM or SIGINT.
"""

import gc
import os
import select
import signal
import socket
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import structlog

from kurz.errors import Kind, KurzError, ProgramOutdated
from kurz.server import systemd
from kurz.server.children import Child, Work, fork
from kurz.server.lifeline import HURRY
from kurz.server.signals import SignalPipe
from kurz.server.slots import ProcessRole, WorkerSlot

MAX_WORKERS = 64
# While workers are renewed, old ones still finish their requests beside the new ones.
WORKER_SLOTS = 2 * MAX_WORKERS
JOBS_SLOT = WORKER_SLOTS
SLOTS = WORKER_SLOTS + 1
START_SECONDS = 60.0  # many workers may start at once on few cores
QUICK_SECONDS = 1.0  # if asked to stop twice


@dataclass(frozen=True)
class ProcessPlan:
    """How many workers there are, what each kind of process does, and how long it may take to
    end."""

    workers: int
    work: Work
    jobs: Work
    stop_seconds: float
    jobs_stop_seconds: float


class Supervisor:
    """`reload` returns the plan for the current settings or raises a `KurzError`; `on_ready` is
    called once, when all workers accept; `notify` informs systemd."""

    def __init__(
        self,
        plan: ProcessPlan,
        listener: socket.socket,
        *,
        reload: Callable[[], ProcessPlan],
        on_ready: Callable[[], None],
        notify: Callable[[str], None],
    ) -> None:
        self._plan = plan
        self._listener = listener
        self._reload = reload
        self._on_ready = on_ready
        self._notify = notify
        self._workers = [WorkerSlot(ProcessRole.WORKER) for _ in range(plan.workers)]
        self._jobs = WorkerSlot(ProcessRole.JOBS)
        self._children: dict[Child, WorkerSlot] = {}
        self._lifeline, self._own_end = os.pipe()
        self._is_announced = self._is_stopping = self._was_ready = False
        self._refusal: KurzError | None = None
        self._wants_renewal = False
        self._coming: ProcessPlan | None = None  # the plan that workers are being renewed for
        self._to_renew: deque[WorkerSlot] = deque()
        # `nohup` ignores SIGHUP: then the end of a terminal means nothing.
        is_hang_up_ignored = signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
        self._had_terminal = not is_hang_up_ignored and _has_terminal()

    def run(self) -> None:
        """Returns when it was told to stop and all processes have ended. Raises the first worker's
        `KurzError` if no worker could start, and `ProgramOutdated` when a process finds that the
        database needs a newer program."""
        self._signals = SignalPipe()
        # What exists now is shared with the children as long as nothing writes to it, not even
        # their garbage collectors.
        gc.collect()
        gc.freeze()
        try:
            for worker_slot in self._workers:
                worker_slot.start_again_in(0)
            while self._children or not self._is_stopping:
                self._keep_up()
                self._wait()
        finally:
            self._signals.close()
            os.close(self._own_end)
            os.close(self._lifeline)
        if self._refusal is not None:
            raise self._refusal

    def _wait(self) -> None:
        """Waits until a signal or a report comes or the next action is due; then notes it."""
        reports = [child.report for child in self._children if child.report is not None]
        select.select([self._signals.reading, *reports], [], [], self._timeout_seconds())
        for child in self._children:
            child.read_report()
        for number in self._signals.read():
            self._on_signal(number)
        self._reap()

    def _timeout_seconds(self) -> float | None:
        moments = [child.kill_at for child in self._children]
        moments += [worker_slot.start_at for worker_slot in self._worker_slots()]
        due = [moment for moment in moments if moment is not None]
        return max(min(due) - time.monotonic(), 0.0) if due else None

    def _worker_slots(self) -> list[WorkerSlot]:
        return [*self._workers, self._jobs]

    def _on_signal(self, number: int) -> None:
        if number in (signal.SIGTERM, signal.SIGINT):
            self._stop(HURRY if number == signal.SIGINT else signal.SIGTERM)
        elif number == signal.SIGHUP:
            if self._had_terminal and not _has_terminal():
                self._stop()  # its terminal was closed
            else:
                self._wants_renewal = True

    def _stop(self, number: int = signal.SIGTERM) -> None:
        """Ends all processes, the jobs process last; soon, if it is asked again.

        The supervisor closes its listening socket first. The port is then closed by the last worker
        that stops accepting. Until then some worker accepts new connections; afterwards clients are
        refused at once, instead of waiting in a queue that is never served.
        """
        if self._is_stopping:
            for child in self._children:
                self._hurry(child)
            return
        self._is_stopping = True
        self._notify(systemd.STOPPING)
        self._listener.close()
        for worker_slot in self._worker_slots():
            worker_slot.start_at = None
        for child, worker_slot in self._children.items():
            if not child.is_retired and worker_slot.role is ProcessRole.WORKER:
                child.retire(self._plan.stop_seconds, number)

    @staticmethod
    def _hurry(child: Child) -> None:
        if child.is_retired:
            child.kill_at = min(child.kill_at or 0.0, time.monotonic() + QUICK_SECONDS)
        else:
            child.retire(QUICK_SECONDS)

    def _stop_jobs(self) -> None:
        """Called when no worker is left: the jobs process counts the last of their clicks."""
        if any(worker_slot.role is ProcessRole.WORKER for worker_slot in self._children.values()):
            return
        for child in self._children:
            if not child.is_retired:
                child.retire(self._plan.jobs_stop_seconds)

    def _keep_up(self) -> None:
        """Does what is due now."""
        now = time.monotonic()
        for child in self._children:
            if child.is_ready and not child.is_retired:
                child.kill_at = None
            if child.kill_at is not None and child.kill_at <= now:
                _log().error("process did not stop in time, killed", pid=child.pid)
                child.kill_at = None
                child.send(signal.SIGKILL)
        if self._is_stopping:
            self._stop_jobs()
            return
        for worker_slot in self._worker_slots():
            if worker_slot.start_at is not None and worker_slot.start_at <= now:
                worker_slot.start_at = None
                worker_slot.child = self._start(worker_slot, self._plan)
        self._announce()
        self._renew()

    def _announce(self) -> None:
        ready = [worker_slot.is_ready for worker_slot in self._workers]
        if any(ready) and not self._was_ready:
            self._was_ready = True
            self._jobs.start_again_in(0)
        if all(ready) and not self._is_announced:
            self._is_announced = True
            self._on_ready()
            self._notify(systemd.READY)

    def _start(self, worker_slot: WorkerSlot, plan: ProcessPlan) -> Child:
        work, slot = plan.jobs, JOBS_SLOT
        if worker_slot.role is ProcessRole.WORKER:
            taken = {child.slot for child in self._children}
            work, slot = plan.work, next(n for n in range(WORKER_SLOTS) if n not in taken)
        child = fork(work, slot, self._lifeline, lambda: self._cut_loose(worker_slot.role))
        child.kill_at = child.started_at + START_SECONDS
        self._children[child] = worker_slot
        return child

    def _cut_loose(self, role: ProcessRole) -> None:
        """In a new child: closes what belongs to the supervisor, above all the other end of the
        lifeline; otherwise the child would outlive the supervisor."""
        self._signals.leave_in_child()
        os.close(self._own_end)
        for child in self._children:
            child.hang_up()
        if role is ProcessRole.JOBS:
            self._listener.close()

    def _reap(self) -> None:
        by_pid = {child.pid: child for child in self._children}
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if (child := by_pid.get(pid)) is not None:  # an adopted process, if kurz is process 1
                child.read_report()
                child.hang_up()
                self._on_end(child, self._children.pop(child), os.waitstatus_to_exitcode(status))

    def _on_end(self, child: Child, worker_slot: WorkerSlot, code: int) -> None:
        is_successor = worker_slot.successor is child
        if (
            not worker_slot.vacate(child)
            or self._is_stopping
            or worker_slot not in self._worker_slots()
        ):
            return
        is_outdated = isinstance(child.refusal, ProgramOutdated)
        if child.refusal is not None and (is_outdated or not self._was_ready):
            self._refusal = child.refusal
            self._stop()
            return
        pause = 0.0
        if not child.is_retired:
            pause = self._pause_seconds(child, worker_slot, code)
            _log_end(child, worker_slot, code, pause)
        if is_successor:
            self._on_failed_renewal(worker_slot)
        if worker_slot.child is None and worker_slot.successor is None:
            worker_slot.start_again_in(pause)

    @staticmethod
    def _pause_seconds(child: Child, worker_slot: WorkerSlot, code: int) -> float:
        """A process that was asked to end from outside, and ended without an error, has not
        failed."""
        if code == 0 and child.is_ready:
            return 0.0
        is_outage = child.refusal is not None and child.refusal.kind is Kind.UNAVAILABLE
        up_seconds = time.monotonic() - child.started_at
        return worker_slot.backoff.pause_seconds(up_seconds, is_outage=is_outage)

    def _renew(self) -> None:
        """The next step: workers are renewed one by one, then the jobs process."""
        if self._wants_renewal and self._is_announced and self._coming is None:
            self._wants_renewal = False
            self._begin_renewal()
        if self._coming is None:
            return
        if self._to_renew:
            worker_slot = self._to_renew[0]
            if worker_slot.successor is None and len(self._children) < WORKER_SLOTS:
                worker_slot.start_at = None
                worker_slot.successor = self._start(worker_slot, self._coming)
            elif worker_slot.successor is not None and worker_slot.successor.is_ready:
                self._replace(worker_slot)
        if not self._to_renew:
            self._end_renewal()

    def _begin_renewal(self) -> None:
        self._notify(systemd.reloading())
        try:
            self._coming = self._reload()
        except KurzError as error:
            _log().error("settings refused; keeping the old ones", reason=error.detail)
            self._notify(systemd.READY)
            return
        self._to_renew = deque(self._workers)

    def _replace(self, worker_slot: WorkerSlot) -> None:
        """The successor is ready: its predecessor may end."""
        old, worker_slot.child, worker_slot.successor = (
            worker_slot.child,
            worker_slot.successor,
            None,
        )
        if old is not None:
            old.retire(self._plan.stop_seconds)
        self._to_renew.popleft()
        if self._coming is not None and self._plan is not self._coming:
            self._plan = self._coming  # it has worked once, so other workers use it too
            self._follow_number(self._plan.workers)

    def _follow_number(self, wanted: int) -> None:
        surplus, self._workers = self._workers[wanted:], self._workers[:wanted]
        for worker_slot in surplus:
            if worker_slot.child is not None:
                worker_slot.child.retire(self._plan.stop_seconds)
        self._to_renew = deque(
            worker_slot for worker_slot in self._to_renew if worker_slot not in surplus
        )
        for _ in range(wanted - len(self._workers)):
            self._workers.append(WorkerSlot(ProcessRole.WORKER))
            self._workers[-1].start_again_in(0)

    def _on_failed_renewal(self, worker_slot: WorkerSlot) -> None:
        """The old worker stays. If no new one has worked yet, all other old workers stay too."""
        _log().error("new worker did not start; keeping the old one")
        if self._plan is self._coming:
            self._to_renew.remove(worker_slot)
        else:
            self._to_renew.clear()

    def _end_renewal(self) -> None:
        if self._plan is self._coming:
            _log().info("workers replaced", workers=self._plan.workers)
            if self._jobs.child is not None:  # its successor starts when it has ended: at most one
                self._jobs.child.retire(self._plan.jobs_stop_seconds)
        self._coming = None
        self._notify(systemd.READY)


def _log() -> structlog.typing.FilteringBoundLogger:
    """Created each time: a reload may have changed the level."""
    log: structlog.typing.FilteringBoundLogger = structlog.get_logger()
    return log


def _log_end(child: Child, worker_slot: WorkerSlot, code: int, pause_seconds: float) -> None:
    how: dict[str, object] = (
        {"signal": signal.Signals(-code).name} if code < 0 else {"exit_code": code}
    )
    if child.refusal is not None:
        how["reason"] = child.refusal.detail
    tell = _log().info if code == 0 else _log().error
    tell(
        "process ended; starting another one",
        process=worker_slot.role.value,
        pid=child.pid,
        pause_seconds=pause_seconds,
        **how,
    )


def _has_terminal() -> bool:
    try:
        with Path("/dev/tty").open("rb"):
            return True
    except OSError:
        return False
