"""Turns a draft into a link, and an edit or a revival into changes. Pure rules: nothing is
stored."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from kurz.links import fields, lifecycle
from kurz.links.codes import custom
from kurz.links.errors import InstantRefused
from kurz.links.model import Draft, Edit, Link, LinkType, Status, Strategy
from kurz.links.urls import JudgedUrl

LONGEST_LIFE = timedelta(days=36_500)
_CHECKED_FIELDS = frozenset({"title", "notes", "tags", "redirect_status", "max_clicks"})


@dataclass(frozen=True)
class Drafting:
    """`temporary_life` is the lifetime of anonymous links, `default_life` of others (None:
    unlimited)."""

    temporary_life: timedelta
    default_life: timedelta | None = None
    redirect_status: int = 302

    def link(self, draft: Draft, strategy: Strategy, url: JudgedUrl, now: datetime) -> Link:
        """The link for a draft. It has no id yet, and a code only if that is a custom one."""
        if draft.custom_code is not None:
            custom.check(draft.custom_code)
        if not draft.is_anonymous:
            fields.check(
                title=draft.title,
                notes=draft.notes,
                tags=draft.tags,
                redirect_status=draft.redirect_status,
                max_clicks=draft.max_clicks,
            )
        starts_at = _start(draft.starts_at, now)
        expires_at = self._expiry(draft, now)
        _check_order(starts_at, expires_at)
        return Link(
            id=0,
            workspace_id=draft.workspace_id,
            short_code=draft.custom_code or "",
            version=1,
            strategy=strategy,
            original_url=url.original,
            canonical_url=url.canonical,
            location=url.location,
            owner_id=draft.owner_id,
            link_type=LinkType.TEMPORARY if draft.is_anonymous else LinkType.PERMANENT,
            status=Status.ACTIVE,
            created_at=now,
            updated_at=now,
            starts_at=starts_at,
            expires_at=expires_at,
            redirect_status=draft.redirect_status or self.redirect_status,
            title=draft.title,
            tags=tuple(dict.fromkeys(draft.tags)),
            notes=draft.notes,
            forward_query=draft.forward_query,
            max_clicks=draft.max_clicks,
        )

    def _expiry(self, draft: Draft, now: datetime) -> datetime | None:
        if draft.expires_at is not None:
            if draft.expires_in_seconds is not None:
                raise InstantRefused(
                    "Use either `expires_at` or `expires_in`, not both.", field="expires_at"
                )
            return checked_end(draft.expires_at, now)
        if draft.expires_in_seconds is not None:
            return now + self._life(draft.expires_in_seconds, is_anonymous=draft.is_anonymous)
        life = self.temporary_life if draft.is_anonymous else self._default_life(draft)
        return None if life is None else now + life

    def _default_life(self, draft: Draft) -> timedelta | None:
        if draft.default_expiry_days is None:
            return self.default_life
        return timedelta(days=draft.default_expiry_days) if draft.default_expiry_days else None

    def _life(self, seconds: int, *, is_anonymous: bool) -> timedelta:
        if seconds <= 0:
            raise InstantRefused(
                "`expires_in` must be a number of seconds, 1 or more.", field="expires_in"
            )
        longest = int((self.temporary_life if is_anonymous else LONGEST_LIFE).total_seconds())
        if seconds > longest:
            hint = " without an account" if is_anonymous else ""
            raise InstantRefused(
                f"`expires_in` can be at most {longest} seconds{hint}.", field="expires_in"
            )
        return timedelta(seconds=seconds)


def changes_of(link: Link, edit: Edit, url: JudgedUrl | None, now: datetime) -> dict[str, Any]:
    """The changes of an edit, as fields of a link; `url` is the edit's URL, judged."""
    changes: dict[str, Any] = {**edit}
    fields.check(**{name: changes[name] for name in _CHECKED_FIELDS & changes.keys()})
    if "tags" in edit:
        changes["tags"] = tuple(dict.fromkeys(edit["tags"]))
    if url is not None:
        changes |= {"canonical_url": url.canonical, "location": url.location}
        if link.strategy is Strategy.DETERMINISTIC and url.canonical != link.canonical_url:
            changes["strategy"] = Strategy.CUSTOM
    if "custom_code" in edit:
        code = changes.pop("custom_code")
        if code != link.short_code:
            custom.check(code)
            changes |= {"short_code": code, "strategy": Strategy.CUSTOM}
    if "expires_at" in edit:
        changes |= _expiring(link, edit["expires_at"], now)
    if "is_paused" in edit:
        changes["status"] = Status.PAUSED if changes.pop("is_paused") else Status.ACTIVE
    if "starts_at" in edit:
        changes["starts_at"] = _start(edit["starts_at"], now)
    if "starts_at" in edit or "expires_at" in edit:
        starts_at = changes.get("starts_at", link.starts_at)
        _check_order(starts_at, changes.get("expires_at", link.expires_at))
    return changes


def revival_of(link: Link, expires_at: datetime | None, now: datetime) -> dict[str, Any]:
    """The changes that restore an expired or deleted link. An expired one then lives until
    `expires_at`, or permanently."""
    changes: dict[str, Any] = {"deleted_at": None, "swept_at": None}
    if expires_at is not None or lifecycle.is_expired(link, now):
        changes |= _expiring(link, expires_at, now)
        _check_order(link.starts_at, changes["expires_at"])
    return changes | {"status": Status.ACTIVE}


def _expiring(link: Link, expires_at: datetime | None, now: datetime) -> Mapping[str, Any]:
    return {
        "expires_at": None if expires_at is None else checked_end(expires_at, now),
        "status": Status.ACTIVE if link.status is Status.EXPIRED else link.status,
        # A temporary link is one that expires; without an expiry it is permanent.
        "link_type": LinkType.PERMANENT if expires_at is None else link.link_type,
    }


def checked_end(expires_at: datetime, now: datetime) -> datetime:
    if expires_at <= now:
        raise InstantRefused("`expires_at` is in the past.", field="expires_at")
    return _utc(expires_at, "expires_at")


def _start(starts_at: datetime | None, now: datetime) -> datetime | None:
    if starts_at is None:
        return None
    if starts_at < now:
        raise InstantRefused("`starts_at` is in the past.", field="starts_at")
    return _utc(starts_at, "starts_at")


def _utc(instant: datetime, field: str) -> datetime:
    try:
        return instant.astimezone(UTC)
    except OverflowError:  # the calendar ends with the year 9999, in UTC too
        raise InstantRefused("This date is too far in the future.", field=field) from None


def _check_order(starts_at: datetime | None, expires_at: datetime | None) -> None:
    if starts_at is not None and expires_at is not None and starts_at >= expires_at:
        raise InstantRefused("`starts_at` must be before the link expires.", field="starts_at")
