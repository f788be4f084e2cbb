"""What is left of a thread whose content was erased, as one hash; and the parts that erase.

Every floor that holds content of threads registers a part: the SQL that erases its content of one
thread, and the SQL of the rows that are left, in a fixed order and with named columns. The hash
over those rows stands in the event that records the erasure, so verification finds what is altered
later. Columns that a later version adds are not in it, nor those that change by themselves.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from hashlib import sha256
from typing import Any, Final
from uuid import UUID

from django.db import connection

from ..state import deltas

ERASED: Final = "$erased"
BLANK: Final = {ERASED: True}
_AT_ONCE: Final = 500


@dataclass(frozen=True, slots=True)
class Part:
    """Content of threads in the tables of one floor.

    `erase` takes the thread and answers (rows, bytes). `remains` are {table: SELECT with one
    parameter, the thread, ordered by its key}. `counts` takes a list of threads and answers
    (rows, bytes) that would go. `naming` takes a list of threads and answers the texts of theirs
    that may name files, one a row; empty where there are none.
    """

    name: str
    erase: str
    counts: str
    remains: dict[str, str]
    naming: str = ""


_parts: dict[str, Part] = {}


def register(part: Part) -> None:
    """Add a part; called when the app of its floor is ready."""
    _parts[part.name] = part


def parts() -> list[Part]:
    """All parts, in the order of their names."""
    return [_parts[name] for name in sorted(_parts)]


def is_blank(data: Any) -> bool:
    """Return whether stored JSON is what erasure leaves in the place of content."""
    return bool(data == BLANK)


def remains_of(thread: UUID) -> str:
    """Hex sha256 over the rows that are left of a thread, in all parts."""
    digest = sha256(b"gatepost-remains-1")
    for part in parts():
        for table, statement in part.remains.items():
            digest.update(f"\n{table}\n".encode())
            for row in _rows(statement, thread):
                digest.update(deltas.canonical([_plain(value) for value in row]) + b"\n")
    return digest.hexdigest()


def _rows(statement: str, thread: UUID) -> Iterator[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(statement, (thread,))
        while rows := cursor.fetchmany(_AT_ONCE):
            yield from rows


def _plain(value: Any) -> Any:
    if isinstance(value, UUID | Decimal):
        return str(value)
    if isinstance(value, (bytes, memoryview)):
        return bytes(value).hex()
    if isinstance(value, datetime):
        return value.timestamp().hex()
    return value
