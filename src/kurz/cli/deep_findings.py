"""What `kurz doctor --deep` finds: damage in the database, the journals and the backups."""

from collections.abc import Iterator, Mapping

from kurz.cli import finding
from kurz.cli.finding import DoctorFinding
from kurz.cli.output import printable
from kurz.errors import BackupBroken, KurzError, StoreUnavailable
from kurz.settings.model import Settings
from kurz.storage.links.verifying import VerifiedLinks
from kurz.wiring.integrity import CheckedBackup, CheckedDatabase, DeepCheck, ShowStep

MOST_NAMED = 20  # links; more are only counted
MOST_CHARACTERS = 200  # of a URL
_CORRECT = "Look up their destinations in a backup, and set them again: kurz edit CODE --url URL"
_RESTORE = "Stop kurz, move the data folder away and restore the last good backup."


def examine_deeply(settings: Settings, tell: ShowStep) -> Iterator[DoctorFinding]:
    check = DeepCheck(settings, tell)
    offsets = None
    try:
        database = check.database()
        offsets = database.offsets
        yield from _database(database)
        yield from _links(database.links)
    except KurzError as error:
        yield finding.error("database", error.detail)
    yield from _journals(check, {} if offsets is None else offsets)
    for backup in check.backups():
        yield _backup(backup)


def name_damaged(found: VerifiedLinks, most: int = MOST_NAMED) -> list[str]:
    """A sentence for each of the first damaged links."""
    return [
        printable(f"{found.path_of(it)} leads to {it.url[:MOST_CHARACTERS]}")
        for it in found.named[:most]
    ]


def count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _database(found: CheckedDatabase) -> Iterator[DoctorFinding]:
    for problem in found.problems:
        yield finding.error("integrity", f"{printable(problem)}")
    if found.problems:
        advice = _RESTORE if found.is_file else "See the log of PostgreSQL, and restore a backup."
        yield finding.error("integrity", advice)
    elif found.is_file:
        yield finding.ok("integrity", "SQLite finds no damage in the file")
    elif found.has_page_checksums:
        yield finding.ok("integrity", "PostgreSQL has read no page with a wrong checksum")
    else:
        says = "PostgreSQL does not check its pages: data_checksums is off. See pg_checksums."
        yield finding.ok("integrity", says)


def _links(found: VerifiedLinks | None) -> Iterator[DoctorFinding]:
    if found is None:
        return
    if not found.has_key:
        says = "the key of the checksums is damaged or missing, so links cannot be checked. "
        yield finding.error("links", says + _RESTORE)
        return
    for sentence in name_damaged(found):
        yield finding.error("link", f"{sentence}, which is not what was stored")
    for it in found.odd_named[:MOST_NAMED]:
        path = printable(found.path_of(it))
        yield finding.error("link", f"{path} has a status, type or redirect status that is unknown")
    if found.odd:
        says = f"{count(found.odd, 'link')} with unknown values. {_RESTORE}"
        yield finding.error("links", says)
    if found.damaged:
        says = f"{found.damaged:,} of {count(found.links, 'link')} damaged. {_CORRECT}"
        yield finding.error("links", says)
    if found.gaps:
        yield finding.error("links", f"{count(found.gaps, 'part')} of the table cannot be read")
    if found.is_good and not found.odd:
        many = count(found.links - found.unknown, "destination")
        yield finding.ok("links", f"{many} compared with checksums, none has changed")
    if found.unknown:
        many = count(found.unknown, "link")
        says = f"{many} without a checksum yet. kurz serve adds it in the background."
        yield finding.warning("links", says)


def _journals(check: DeepCheck, offsets: Mapping[bytes, int]) -> Iterator[DoctorFinding]:
    files, damaged = check.journals(offsets)
    for name, problem in damaged:
        says = f"{name} is damaged: {problem}. kurz counts what can be read."
        yield finding.error("journal", says)
    if files and not damaged:
        yield finding.ok("journals", f"{count(files, 'file')} read, no damage")


def _backup(found: CheckedBackup) -> DoctorFinding:
    if isinstance(found.error, BackupBroken | StoreUnavailable):
        return finding.error("backup", f"{found.name}: {found.error.detail}")
    if found.error is not None:  # it is locked, or its place does not answer
        return finding.warning("backup", f"{found.name} was not checked. {found.error.detail}")
    links = found.links
    if links is None:
        return finding.ok("backup", f"{found.name} is intact; its links have no checksums")
    if not links.has_key:
        says = f"{found.name} is intact, but its links cannot be checked: the key is damaged"
        return finding.warning("backup", says)
    if not links.is_good:
        says = f"{found.name} is intact, but has {count(links.damaged, 'damaged link')}"
        return finding.warning("backup", says)
    return finding.ok("backup", f"{found.name} is intact, with {count(links.links, 'link')}")
