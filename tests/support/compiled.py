"""Statements that SQLAlchemy has compiled, shared by all engines of a kind in this process.

By default each engine compiles for itself, once, which a server does not notice. Each test has an
engine of its own and compiles nearly all that it executes: a quarter of what it does.
"""

from collections import defaultdict
from typing import Any

from sqlalchemy.engine.interfaces import Dialect
from sqlalchemy.sql.elements import ClauseElement
from sqlalchemy.util import LRUCache

_compile = ClauseElement._compile_w_cache
_dialects: dict[object, Dialect] = {}
_caches: defaultdict[object, LRUCache[Any, Any]] = defaultdict(lambda: LRUCache(2000))


def share() -> None:
    ClauseElement._compile_w_cache = _compile_once  # type: ignore[method-assign]


def _compile_once(
    self: ClauseElement, dialect: Dialect, *, compiled_cache: Any, **options: Any
) -> Any:
    if compiled_cache is not None:
        kind = _kind_of(dialect)
        dialect, compiled_cache = _dialects.setdefault(kind, dialect), _caches[kind]
    return _compile(self, dialect, compiled_cache=compiled_cache, **options)


def _kind_of(dialect: Any) -> object:
    """Whatever a compiled statement may depend on: what the options and the server made it."""
    driver = getattr(dialect.dbapi, "__name__", type(dialect.dbapi).__name__)
    return type(dialect), driver, dialect.server_version_info, dialect.default_schema_name
