"""A link as the API and `--json` output show it."""

from typing import Any

from kurz.links.model import Link, Status
from kurz.links.service import LinkService


def view(link: Link, service: LinkService, address: str) -> dict[str, Any]:
    return {
        "id": service.public_id(link),
        "workspace_id": link.workspace_id,
        "short_code": link.short_code,
        "short_url": address,
        "original_url": link.original_url,
        "canonical_url": link.canonical_url,
        "link_type": link.link_type,
        "status": service.status(link),
        "is_paused": link.status is Status.PAUSED,
        "strategy": link.strategy,
        "owner_id": link.owner_id,
        "version": link.version,
        "created_at": link.created_at,
        "updated_at": link.updated_at,
        "starts_at": link.starts_at,
        "expires_at": link.expires_at,
        "deleted_at": link.deleted_at,
        "swept_at": link.swept_at,
        "purged_at": service.purged_at(link),
        "redirect_status": link.redirect_status,
        "title": link.title,
        "tags": list(link.tags),
        "notes": link.notes,
        "forward_query": link.forward_query,
        "max_clicks": link.max_clicks,
        "clicks_used": link.clicks_used,
        "redirect_count": link.redirect_count,
        "avg_redirect_ms": link.avg_redirect_ms,
        "destination_status": link.destination_status,
        "destination_http_status": link.destination_http_status,
        "last_checked_at": link.last_checked_at,
        "held_at": link.held_at,
    }
