"""The ways to a short code: random, counter, deterministic and custom. All of it is pure."""
