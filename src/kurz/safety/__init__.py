"""Checks of destinations, lists that screen them, bans, reports of abuse, the audit log."""
