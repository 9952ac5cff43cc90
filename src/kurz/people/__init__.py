"""People and what they share: workspaces and their domains."""
