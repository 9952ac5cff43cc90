"""kurz: a self-hosted URL shortener."""

__version__ = "0.1.0"
