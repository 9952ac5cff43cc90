"""Clicks: what is recorded of a redirect, and the journal it is recorded in."""
