"""Rows as objects, and back. Columns and fields have the same names; in the database, an instant is
a number of microseconds, and an enum is its text."""

from collections.abc import Callable, Mapping
from dataclasses import fields
from datetime import datetime
from enum import StrEnum
from functools import cache
from typing import Any, TypeVar, get_args, get_type_hints

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import Insert, insert  # SQLite understands it too

from kurz.clock import from_micros, to_micros

T = TypeVar("T")


def to_object(kind: type[T], row: sa.RowMapping, **others: Any) -> T:
    """`others` are fields that no column has as they are."""
    found = {
        name: None if row[name] is None else read(row[name])
        for name, read in _readers(kind).items()  # type: ignore[arg-type]
        if name not in others
    }
    return kind(**found, **others)


def to_values(item: Any) -> dict[str, Any]:
    """The columns of an object."""
    values = {field.name: getattr(item, field.name) for field in fields(item)}
    return {
        name: to_micros(value) if isinstance(value, datetime) else value
        for name, value in values.items()
    }


def upsert(table: sa.Table, *names: str) -> Insert:
    """Inserts rows. If there is a row with the same primary key, writes these columns to it."""
    made = insert(table)
    changed = {name: made.excluded[name] for name in names}
    return made.on_conflict_do_update(index_elements=[*table.primary_key], set_=changed)


def find_one(connection: sa.Connection, statement: sa.Executable, kind: type[T]) -> T | None:
    row = connection.execute(statement).mappings().first()
    return None if row is None else to_object(kind, row)


def find_all(connection: sa.Connection, statement: sa.Executable, kind: type[T]) -> list[T]:
    return [to_object(kind, row) for row in connection.execute(statement).mappings()]


@cache
def _readers(kind: type) -> Mapping[str, Callable[[Any], Any]]:
    """What makes a field of a column's value."""
    return {name: _reader(hint) for name, hint in get_type_hints(kind).items()}


def _reader(hint: Any) -> Callable[[Any], Any]:
    for type_ in get_args(hint) or (hint,):
        if type_ is datetime:
            return from_micros
        if isinstance(type_, type) and issubclass(type_, StrEnum):
            return type_
    return _unchanged


def _unchanged(value: Any) -> Any:
    return value
