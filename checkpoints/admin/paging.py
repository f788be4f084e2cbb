"""Pages of rows along an index, for lists that hold millions; knows no table.

Everything here costs the same on the first page and on the last one: pages begin with a row
comparison, never with an OFFSET; counts end at COUNT_CAP; and what no index can find is looked for
among the next WINDOW rows of the walk only, after which the page says so and offers to look on.
"""

from __future__ import annotations

import base64
import binascii
import json
from dataclasses import dataclass
from typing import Any

from django.core.exceptions import ValidationError
from django.db import models
from django.db.models.expressions import F, RawSQL
from django.db.models.fields.tuple_lookups import (
    TupleGreaterThan,
    TupleGreaterThanOrEqual,
    TupleLessThan,
    TupleLessThanOrEqual,
)

ROWS = 50
COUNT_CAP = 1_000
WINDOW = 10_000
XID = "xid8"


class XidField(models.Field):  # type: ignore[type-arg]
    """The transaction that wrote an event: the order in which rows of all threads were written."""

    def get_placeholder_sql(self, value: Any, _compiler: Any, _connection: Any) -> Any:
        return "%s::xid8", (str(value),)

    def to_python(self, value: Any) -> int:
        number = int(value)
        if not 0 <= number < 2**63:
            raise ValidationError("is not a transaction")
        return number


@dataclass(frozen=True, slots=True)
class Walk:
    """An index to go along: rows with these columns `equal`, descending by `order`."""

    order: tuple[str, ...]
    equal: tuple[str, ...] = ()


class BadCursor(Exception):
    """The cursor that names the first row of a page cannot be read."""


@dataclass(frozen=True, slots=True)
class RowPage:
    """A page of rows, newest first; empty cursors where there is nothing in that direction.

    `count` is how many fit from here on, at most COUNT_CAP + 1, among the rows that were looked at;
    `searched_all` says whether those were all there are.
    """

    rows: tuple[Any, ...]
    older: str
    newer: str
    count: int
    searched_all: bool


def read_page(
    every: models.QuerySet[Any],
    wanted: models.QuerySet[Any],
    walk: Walk,
    cursor: str = "",
    *,
    rows: int = ROWS,
    window: int = WINDOW,
) -> RowPage:
    """One page in three short statements: how far to look, how many there are, the rows.

    `every` has the walk's equal columns set and nothing else; `wanted` is what the reader asked
    for. A cursor that begins with "-" leads to newer rows. Raises BadCursor.
    """
    back = cursor.startswith("-")
    start = _decode(every.model, walk, cursor.removeprefix("-")) if cursor else None
    part = _part(_named(every, walk), _named(wanted, walk), walk, start, back, rows, window)
    if back and not part.more and part.edge is None:
        # Before its first row a list has a whole page again.
        back, start = False, None
        part = _part(_named(every, walk), _named(wanted, walk), walk, None, False, rows, window)
    result = part.rows[::-1] if back else part.rows
    first = _encode(_key(result[0], walk)) if result else ""
    last = _encode(_key(result[-1], walk)) if result else ""
    edge = "" if part.edge is None else _encode(part.edge)
    if back:
        newer, older = (first if part.more else edge), last
    else:
        # From a page without rows the way back is the first page.
        newer, older = (first if start else ""), (last if part.more else edge)
    return RowPage(tuple(result), older, newer and f"-{newer}", part.count, part.edge is None)


@dataclass(frozen=True, slots=True)
class _Part:
    rows: list[Any]
    more: bool
    edge: tuple[Any, ...] | None
    count: int


def _part(
    every: models.QuerySet[Any],
    wanted: models.QuerySet[Any],
    walk: Walk,
    start: tuple[Any, ...] | None,
    back: bool,
    rows: int,
    window: int,
) -> _Part:
    columns = tuple(F(name) for name in walk.order)
    order = [name if back else f"-{name}" for name in walk.order]
    if start is not None:
        beyond = (TupleGreaterThan if back else TupleLessThan)(columns, start)
        every, wanted = every.filter(beyond), wanted.filter(beyond)
    # The one OFFSET: of a fixed length, along the index alone.
    edges = list(every.order_by(*order).values_list(*walk.order)[window - 1 : window])
    if edges:
        until = TupleLessThanOrEqual if back else TupleGreaterThanOrEqual
        wanted = wanted.filter(until(columns, edges[0]))
    wanted = wanted.order_by(*order)
    # In order, or the planner might begin anywhere in the table.
    count = wanted[: COUNT_CAP + 1].count()
    results = list(wanted[: rows + 1])
    return _Part(results[:rows], len(results) > rows, edges[0] if edges else None, count)


def _named(rows: models.QuerySet[Any], walk: Walk) -> models.QuerySet[Any]:
    """Give a name to the column that no model has."""
    if XID not in walk.order:
        return rows
    column = f'"{rows.model._meta.db_table}"."{XID}"'
    raw = RawSQL(column, (), output_field=XidField())  # noqa: S611 - two constants
    named: models.QuerySet[Any] = rows.annotate(xid8=raw)
    return named


def _key(row: Any, walk: Walk) -> tuple[Any, ...]:
    return tuple(getattr(row, name) for name in walk.order)


def _encode(key: tuple[Any, ...]) -> str:
    raw = json.dumps([v if isinstance(v, int) else str(v) for v in key])
    return base64.urlsafe_b64encode(raw.encode()).decode().rstrip("=")


def _decode(model: type[models.Model], walk: Walk, cursor: str) -> tuple[Any, ...]:
    try:
        raw = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))
        values = json.loads(raw)
        if not isinstance(values, list) or len(values) != len(walk.order):
            raise BadCursor
        if any(isinstance(v, str) and "\0" in v for v in values):
            raise BadCursor
        results = [
            _column(model, n).clean(v, None) for n, v in zip(walk.order, values, strict=True)
        ]
    except (binascii.Error, ValueError, TypeError, RecursionError, ValidationError) as error:
        raise BadCursor from error
    return tuple(results)


def _column(model: type[models.Model], name: str) -> Any:
    if name == XID:
        return XidField()
    field: Any = model._meta.get_field(name)
    return getattr(field, "target_field", field)
