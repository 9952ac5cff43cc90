"""How the engines go about statements."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import sqlalchemy as sa


@contextmanager
def plans_of(connection: sa.Connection, found: list[str], table: str = "links") -> Iterator[None]:
    """The plan of each statement about the table, just before it runs."""

    def explain(_: Any, cursor: Any, statement: str, values: Any, *_more: Any) -> None:
        if table not in statement or statement.startswith("EXPLAIN"):
            return
        words = "EXPLAIN QUERY PLAN " if connection.dialect.name == "sqlite" else "EXPLAIN "
        cursor.execute(words + statement, values)
        lines = ["/".join(map(str, row)) for row in cursor.fetchall()]
        found.append(statement + "\n" + "\n".join(lines))

    sa.event.listen(connection, "before_cursor_execute", explain)
    try:
        yield
    finally:
        sa.event.remove(connection, "before_cursor_execute", explain)
