"""The event loop of the tests."""

import warnings

import uvloop


class Loop(uvloop.Loop):
    """The event loop of kurz itself, which also takes less time than the usual one."""

    def close(self) -> None:
        """Raises warnings of open connections at the end. Where a warning is an error, uvloop's own
        would not close the connection that it warns of, and wait for that for good."""
        with warnings.catch_warnings(record=True) as unclosed:
            warnings.simplefilter("always", ResourceWarning)
            super().close()
        for warning in unclosed:
            warnings.warn_explicit(
                warning.message, warning.category, warning.filename, warning.lineno
            )
