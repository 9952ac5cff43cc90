"""What tests use to drive kurz from outside."""
