"""What archiving reads and writes: links with everything that was counted for them, and their
files."""

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import date, datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from kurz.clicks.batch import Subject, SubjectKind
from kurz.clock import EPOCH, from_micros, to_micros, to_micros_or_none
from kurz.links.ending.archives import (
    ArchivedLink,
    ArchiveState,
    CountedDay,
    CountedTotals,
    FileEntry,
    FileState,
    Obstacle,
)
from kurz.links.ending.ports import JOB
from kurz.links.ending.retention import EndedKind
from kurz.links.model import ROOT_WORKSPACE_ID, Link, LinkAction, Status
from kurz.storage.clicks.months import note_late
from kurz.storage.clicks.store import lock_counting
from kurz.storage.clicks.totals import add_totals
from kurz.storage.ending.conditions import are_ended
from kurz.storage.ending.purging import (
    PurgingStore,
    few_enough,
    forget_clicks,
    lock_next,
    purge_links,
)
from kurz.storage.engine.batches import among, at_once
from kurz.storage.engine.changes import record_change
from kurz.storage.engine.deadlines import LIST_SECONDS, LONG_SECONDS, deadline
from kurz.storage.engine.rows import find_all
from kurz.storage.engine.store import reads, writes
from kurz.storage.jobs.runs import add_cleaned
from kurz.storage.links.checksums import with_checksums
from kurz.storage.links.history import add_history_entry
from kurz.storage.links.tags import add_tags
from kurz.storage.safety.ban_list import find_standing
from kurz.storage.schema.clicks import click_days, click_totals
from kurz.storage.schema.jobs import archive_files, code_quarantine
from kurz.storage.schema.link_rows import STORED, to_link, to_row
from kurz.storage.schema.links import changes, links
from kurz.storage.schema.people import accounts, workspaces

MOST_DAYS = 10_000  # in a file, unless one link alone has more: some 10 MB in memory
_FIRST_DAY = EPOCH.date().toordinal()
_ENDED = (Status.DELETED, Status.EXPIRED, Status.PAUSED)
_FILE_STATES = {
    FileState.BEGUN: archive_files.c.finished_at.is_(None),
    FileState.FINISHED: archive_files.c.finished_at.is_not(None) & (archive_files.c.links > 0),
    FileState.GIVEN_UP: archive_files.c.finished_at.is_not(None) & (archive_files.c.links == 0),
}


def collect_links(
    connection: sa.Connection,
    ended: EndedKind,
    before: datetime,
    limit: int,
    but: Collection[int] = (),
) -> list[ArchivedLink]:
    condition, order = are_ended(ended, to_micros(before))
    query = sa.select(links).where(condition).order_by(*order).limit(at_once(connection, limit))
    if but:
        query = query.where(~among(connection, links.c.id, [*but]))
    rows = connection.execute(query).mappings().all()
    ownerless = _find_ownerless(connection, rows)
    rows = [row for row in rows if row["id"] not in ownerless]
    # Totals before days: if clicks are counted in between, the totals change and the file is given
    # up.
    totals = _find_totals(connection, [row["id"] for row in rows])
    rows = rows[: len(few_enough(connection, [row["id"] for row in rows], MOST_DAYS))]
    days = _find_days(connection, [row["id"] for row in rows])
    return [
        ArchivedLink(
            replace(to_link(row), **_copied(totals.get(row["id"]))),
            row["claim_hash"],
            totals.get(row["id"]),
            days[row["id"]],
        )
        for row in rows
    ]


def find_ownerless(
    connection: sa.Connection, ended: EndedKind, before: int, limit: int
) -> Collection[int]:
    """Of the next links to collect."""
    condition, order = are_ended(ended, before)
    query = sa.select(links.c.id, links.c.space).where(condition).order_by(*order)
    query = query.limit(at_once(connection, limit))
    return _find_ownerless(connection, connection.execute(query).mappings().all())


def _find_ownerless(connection: sa.Connection, rows: Sequence[sa.RowMapping]) -> set[int]:
    """The personal links of deleted accounts."""
    owners = {row["id"]: -row["space"] for row in rows if row["space"] < 0}
    query = sa.select(accounts.c.id).where(among(connection, accounts.c.id, [*owners.values()]))
    there = set(connection.execute(query).scalars()) if owners else set()
    return {link_id for link_id, owner_id in owners.items() if owner_id not in there}


def purge_ownerless(
    connection: sa.Connection, link_ids: Sequence[int], now: int, kept_until: int
) -> int:
    has_owner = sa.exists().where(accounts.c.id == -links.c.space).correlate(links)
    is_ownerless = links.c.status.in_(_ENDED) & (links.c.space < 0) & ~has_owner
    are_these = among(connection, links.c.id, link_ids) & is_ownerless
    ids = lock_next(connection, are_these, (links.c.id,), len(link_ids))
    purged = purge_links(connection, ids, is_ownerless, now, kept_until)
    add_cleaned(connection, JOB, purged)
    return purged


def _find_totals(connection: sa.Connection, ids: Collection[int]) -> dict[int, CountedTotals]:
    query = sa.select(click_totals).where(
        click_totals.c.kind == SubjectKind.LINK.value, click_totals.c.subject.in_(ids)
    )
    return {
        row.subject: CountedTotals(row.clicks, row.timed, row.mean_ms, row.m2)
        for row in connection.execute(query)
    }


def _find_days(connection: sa.Connection, ids: Collection[int]) -> dict[int, list[CountedDay]]:
    query = sa.select(click_days).where(_are_of(ids)).order_by(click_days.c.day)
    found: dict[int, list[CountedDay]] = defaultdict(list)
    for row in connection.execute(query):
        day = date.fromordinal(_FIRST_DAY + row.day)
        counts, sketch = bytes(row.counts), bytes(row.sketch)
        found[row.subject].append(
            CountedDay(day, row.clicks, row.people, row.visitors, counts, sketch, row.month)
        )
    return found


def _are_of(ids: Collection[int]) -> sa.ColumnElement[bool]:
    return (click_days.c.kind == SubjectKind.LINK.value) & click_days.c.subject.in_(ids)


def begin_file(connection: sa.Connection, name: str, links: int, now: datetime) -> None:
    values = {"name": name, "links": links, "created_at": to_micros(now)}
    connection.execute(sa.insert(archive_files).values(values))


def finish_file(
    connection: sa.Connection,
    name: str,
    states: Sequence[ArchiveState],
    now: datetime,
    kept_micros: int,
) -> int | None:
    query = sa.select(archive_files).where(archive_files.c.name == name).with_for_update()
    file = connection.execute(query).first()
    if file is None or (file.finished_at is not None and not file.links):
        return None
    if file.finished_at is not None:
        return 0
    if not _are_unchanged(connection, states):
        give_up_file(connection, name, now)
        return None
    ids = [state.link_id for state in states]
    at = to_micros(now)
    purged = purge_links(connection, ids, links.c.status.in_(_ENDED), at, at + kept_micros)
    add_cleaned(connection, JOB, purged)
    connection.execute(
        sa.update(archive_files).where(archive_files.c.name == name).values(finished_at=at)
    )
    return purged


def _are_unchanged(connection: sa.Connection, states: Sequence[ArchiveState]) -> bool:
    """They stay unchanged until the transaction ends."""
    ids = [state.link_id for state in states]
    query = (
        sa.select(links.c.id, links.c.version, links.c.space)
        .where(links.c.id.in_(ids), links.c.status.in_(_ENDED))
        .order_by(links.c.id)
        .with_for_update()
    )
    rows = connection.execute(query).mappings().all()
    versions = {row["id"]: row["version"] for row in rows}
    if versions != {state.link_id: state.version for state in states}:
        return False
    if _find_ownerless(connection, rows):
        return False
    lock_counting(connection)
    totals = _find_totals(connection, ids)
    clicks = {link_id: found.clicks for link_id, found in totals.items()}
    return all(clicks.get(state.link_id, 0) == state.clicks for state in states)


def give_up_file(connection: sa.Connection, name: str, now: datetime) -> bool:
    statement = (
        sa.update(archive_files)
        .where(archive_files.c.name == name, _FILE_STATES[FileState.BEGUN])
        .values(links=0, finished_at=to_micros(now))
    )
    if connection.execute(statement).rowcount:
        return True
    finished = sa.select(archive_files.c.name).where(
        archive_files.c.name == name, _FILE_STATES[FileState.FINISHED]
    )
    return connection.execute(finished).first() is None


def list_files(connection: sa.Connection, *states: FileState) -> list[FileEntry]:
    state = sa.case(*((condition, name.value) for name, condition in _FILE_STATES.items()))
    query = (
        sa.select(archive_files, state.label("state"))
        .where(sa.or_(*(_FILE_STATES[it] for it in states or FileState)))
        .order_by(archive_files.c.created_at, archive_files.c.name)
    )
    return find_all(connection, query, FileEntry)


def forget_files(connection: sa.Connection, before: datetime) -> None:
    is_old = archive_files.c.finished_at < to_micros(before)
    connection.execute(sa.delete(archive_files).where(_FILE_STATES[FileState.GIVEN_UP], is_old))


def find_last_versions(connection: sa.Connection, link_ids: Collection[int]) -> dict[int, int]:
    """As far as the change log reaches back; all of it is read."""
    query = (
        sa.select(changes.c.link_id, sa.func.max(changes.c.version).label("version"))
        .where(among(connection, changes.c.link_id, [*link_ids]))
        .group_by(changes.c.link_id)
    )
    return {row.link_id: row.version for row in connection.execute(query)}


def put_back(
    connection: sa.Connection, archived: ArchivedLink, version: int, now: int
) -> Link | Obstacle:
    link = replace(archived.link, version=version, updated_at=from_micros(now))
    if not _has_workspace(connection, link):
        return Obstacle.NO_WORKSPACE
    if not _has_owner(connection, link):
        if link.workspace_id == ROOT_WORKSPACE_ID:
            return Obstacle.NO_OWNER
        link = replace(link, owner_id=None)  # as if it had existed when the account was deleted
    if find_standing(connection, {str(link.owner_id)}):
        return Obstacle.OWNER_BANNED
    link = replace(link, **_copied(archived.totals))
    _token_id(connection, link.id)
    [stored] = with_checksums(connection, [to_row(link, archived.claim_hash)])
    row: dict[str, Any] = dict(zip(STORED, stored, strict=True))
    row |= {
        "id": link.id,
        "destination_status": link.destination_status,
        "destination_http_status": link.destination_http_status,
        "last_checked_at": to_micros_or_none(link.last_checked_at),
        "redirect_ms_m2": archived.totals.m2 if archived.totals else None,
    }
    statement = insert(links).values(row).on_conflict_do_nothing().returning(links.c.id)
    if connection.execute(statement).first() is None:
        is_there = sa.select(links.c.id).where(links.c.id == link.id)
        return Obstacle.EXISTS if connection.execute(is_there).first() else Obstacle.TAKEN
    if link.workspace_id == ROOT_WORKSPACE_ID:
        of_code = code_quarantine.c.short_code == link.short_code
        connection.execute(sa.delete(code_quarantine).where(of_code))
    add_tags(connection, link, link.id)
    record_change(connection, link.id, link.workspace_id, link.short_code, version, now)
    add_history_entry(connection, None, link, LinkAction("restore"))
    _put_counts_back(connection, archived)
    return link


def _copied(totals: CountedTotals | None) -> dict[str, Any]:
    """The link's fields from its totals: its row may be behind."""
    if totals is None:
        return {}
    fields: dict[str, Any] = {"redirect_count": totals.clicks}
    if totals.timed:  # otherwise the average of an import stays
        fields["avg_redirect_ms"] = totals.mean_ms
    return fields


def _has_workspace(connection: sa.Connection, link: Link) -> bool:
    if link.workspace_id == ROOT_WORKSPACE_ID:
        return True
    query = sa.select(workspaces.c.id).where(
        workspaces.c.id == link.workspace_id, workspaces.c.deleted_at.is_(None)
    )
    return connection.execute(query).first() is not None


def _has_owner(connection: sa.Connection, link: Link) -> bool:
    """The account stays until the transaction ends. True for a link without an owner."""
    if link.owner_id is None:
        return True
    query = sa.select(accounts.c.id).where(accounts.c.id == link.owner_id)
    query = query.with_for_update(read=True, key_share=True)
    return connection.execute(query).first() is not None


def _token_id(connection: sa.Connection, link_id: int) -> None:
    """No new link gets this id, even if an older backup was restored. SQLite ensures that itself.
    To be called before the insert, while no other transaction waits for this one."""
    if connection.dialect.name == "sqlite":
        return
    sequence = "pg_get_serial_sequence('links', 'id')"
    is_passed = f"SELECT $1 <= coalesce(pg_sequence_last_value({sequence}::regclass), 0)"
    if connection.exec_driver_sql(is_passed, (link_id,)).scalar():
        return
    # A parallel create could get a number between reading the sequence and moving it.
    connection.exec_driver_sql("LOCK TABLE links IN SHARE ROW EXCLUSIVE MODE")
    connection.exec_driver_sql(
        f"SELECT setval({sequence}, $1)"
        f" WHERE $1 > coalesce(pg_sequence_last_value({sequence}::regclass), 0)",
        (link_id,),
    )


def _put_counts_back(connection: sa.Connection, archived: ArchivedLink) -> None:
    """For the link only: the counts of its workspace and tags were kept. It replaces late clicks
    that were counted after the purge."""
    link_id = archived.link.id
    forget_clicks(connection, [link_id])
    if archived.days:
        rows = [
            day._asdict()
            | {
                "kind": SubjectKind.LINK.value,
                "subject": link_id,
                "day": day.day.toordinal() - _FIRST_DAY,
            }
            for day in archived.days
        ]
        connection.execute(sa.insert(click_days), rows)
        note_late(connection, [Subject(SubjectKind.LINK, link_id)])
    if archived.totals is not None:
        add_totals(connection, [(SubjectKind.LINK.value, link_id, *archived.totals)])


class SqlArchiveStore(PurgingStore):
    """The `ArchiveStore` of both engines."""

    async def purge_ownerless(
        self, ended: EndedKind, before: datetime, now: datetime, limit: int
    ) -> int:
        at = to_micros(now)
        with deadline(LONG_SECONDS):
            ids = await self._database.read(find_ownerless, ended, to_micros(before), limit)
            if not ids:
                return 0
            return await self._database.write(purge_ownerless, [*ids], at, at + self._kept_micros)

    collect = reads(collect_links, LONG_SECONDS)
    begin_file = writes(begin_file)

    async def finish_file(
        self, name: str, states: Sequence[ArchiveState], now: datetime
    ) -> int | None:
        with deadline(LONG_SECONDS):
            return await self._database.write(finish_file, name, states, now, self._kept_micros)

    give_up_file = writes(give_up_file)
    files = reads(list_files, LIST_SECONDS)
    forget_files = writes(forget_files)
    last_versions = reads(find_last_versions, LONG_SECONDS)

    async def put_back(
        self, archived: ArchivedLink, last_version: int, now: datetime
    ) -> Link | Obstacle:
        # Its purge was a version too, and so was everything after an earlier restore.
        version = max(archived.link.version + 2, last_version + 1)
        with deadline(LONG_SECONDS):
            return await self._database.write(put_back, archived, version, to_micros(now))
