"""A workspace with a domain, and links with the same code in it and at the root."""

import pytest


@pytest.fixture
async def team(add_workspace, add_domain, add_link) -> int:
    """A workspace with a domain, a code on it, and a code of the same name at the root."""
    workspace_id = await add_workspace("team")
    await add_domain("links.team.example", workspace_id)
    await add_link("https://example.com/team", workspace_id=workspace_id, custom_code="launch")
    await add_link("https://example.com/root", custom_code="launch")
    await add_link("https://example.com/root", custom_code="rooted")
    team_id: int = workspace_id
    return team_id
