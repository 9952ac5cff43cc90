"""Changes, on their way between workers and instances."""
