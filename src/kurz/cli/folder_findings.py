"""What `kurz doctor` finds in the data folder."""

import os
import pwd
import shutil
import stat
from pathlib import Path

from kurz.api.http.health import OWN_SECRET, judge_disk
from kurz.cli import finding
from kurz.cli.finding import DoctorFinding
from kurz.clicks.dropped import DroppedClicks
from kurz.errors import SettingRefused, WritesFail
from kurz.settings.model import Settings
from kurz.settings.secret import read_secret
from kurz.wiring.data_folder import check_data_folder
from kurz.wiring.engine import Engine

_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def data_folder(settings: Settings) -> list[DoctorFinding]:
    """Whether it can be written to, has room, and how many clicks could not be recorded in it."""
    try:
        check_data_folder(settings)
    except (SettingRefused, WritesFail) as refusal:
        return [finding.error("data folder", refusal.detail)]
    folder = settings.data_dir.resolve()
    if not folder.exists():
        return []
    free, floor = shutil.disk_usage(folder).free, settings.min_free_megabytes
    verdict, says = judge_disk(free, floor * 1024**2), f"{folder}, {free / 1024**3:.1f} GiB free"
    full = f". Clicks are not recorded below {floor} MiB (KURZ_MIN_FREE_MEGABYTES). Free up space."
    judged = finding.judged("data folder", verdict, ok=says, small=says, full=says + full)
    return [
        judged,
        *another_user(folder, os.geteuid()),
        *_backups(settings),
        *_lost_clicks(settings),
    ]


def another_user(folder: Path, user_id: int) -> list[DoctorFinding]:
    """Whether root looks at the folder of an ordinary user, who may be able to do less."""
    owner_id = folder.stat().st_uid
    if user_id != 0 or owner_id == 0:
        return []
    try:
        owner = pwd.getpwuid(owner_id).pw_name
    except KeyError:  # no account has this number
        owner = f"#{owner_id}"
    says = (
        f"root runs this command, but {folder} belongs to another user. Run it as that user to see"
        f" what kurz serve can do: sudo -u {owner} kurz doctor"
    )
    return [finding.warning("user", says)]


def _backups(settings: Settings) -> list[DoctorFinding]:
    """Whether another user, such as root, has made the folder that backups are packed in."""
    folder = settings.backup_dir.absolute()
    if not folder.exists() or os.access(folder, os.R_OK | os.W_OK | os.X_OK):
        return []
    says = (
        f"{folder} cannot be written to, so backups and upgrades will fail. Let the user who runs"
        f" kurz (ID {os.geteuid()}) read, write and enter it."
    )
    return [finding.warning("backups", says)]


def _lost_clicks(settings: Settings) -> list[DoctorFinding]:
    lost = DroppedClicks(settings.dropped_clicks_path).read()
    if not lost:
        return []
    many = "1 click" if lost == 1 else f"{lost:,} clicks"
    says = f"{many} could not be recorded so far because the disk was full or failing"
    return [finding.warning("lost clicks", says)]


def secret(engine: Engine) -> list[DoctorFinding]:
    """Whether it can be used, whether other users can read it, and whether instances share it."""
    found = [] if engine.settings.secret is not None else _secret_file(engine)
    if not engine.is_secret_shared:
        own = (
            "KURZ_SECRET is not set. Each instance on this database generates its own secret,"
            " rejects the tokens of the others, and counts rate limits separately. Set the"
            " same KURZ_SECRET on all instances."
        )
        found.append(finding.judged("secret", OWN_SECRET, own=own))
    return found


def _secret_file(engine: Engine) -> list[DoctorFinding]:
    path = engine.settings.secret_path
    try:
        mode = path.stat().st_mode
        read_secret(path)
    except FileNotFoundError:
        return _missing_secret(engine)
    except OSError:  # the folder itself is unusable, which is another finding
        return []
    except SettingRefused as refusal:
        return [finding.error("secret", refusal.detail)]
    if not mode & _OTHERS:
        return []
    says = (
        f"{path} has mode {stat.S_IMODE(mode):o}, so other users of this machine may read it."
        f" Run: chmod 600 {path}"
    )
    return [finding.warning("secret", says)]


def _missing_secret(engine: Engine) -> list[DoctorFinding]:
    """That of a new data folder is generated at the first start."""
    if engine.file is None or not engine.settings.journal_dir.exists():
        return []
    says = (
        f"{engine.settings.secret_path} is missing. kurz serve generates a new one, and everyone"
        " has to sign in again. Restore the file from a backup to prevent that."
    )
    return [finding.warning("secret", says)]
