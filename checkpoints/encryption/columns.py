"""The columns that hold secrets as ciphertext; upper floors register theirs when the app is ready.

A column is a text, or a JSON list of objects whose `secret` is the text (`listed`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from .ciphertext import decrypt, encrypt, location_of

SECRET = "secret"  # noqa: S105


@dataclass(frozen=True, slots=True)
class EncryptedColumn:
    """One column of a table with an id and a workspace.

    `recorded`: the log of the workspace records the row, so each rotation of it is an event.
    """

    table: str
    column: str
    listed: bool = False
    recorded: bool = True

    @property
    def noun(self) -> str:
        """Name of the place for people and figures."""
        return f"{self.table}.{self.column}"

    def encrypt(self, text: str, ident: UUID) -> str:
        """The ciphertext of one text of this column; "" stays empty."""
        return encrypt(text, location_of(self.table, ident, self.column)) if text else ""

    def decrypt(self, stored: str, ident: UUID) -> str:
        """The text again; raises CannotDecrypt."""
        return decrypt(stored, location_of(self.table, ident, self.column))

    def texts(self, value: Any) -> list[str]:
        """The stored texts of a column's value."""
        if self.listed:
            return [str(one[SECRET]) for one in value]
        return [str(value)] if value else []

    def with_texts(self, value: Any, texts: list[str]) -> Any:
        """The same value with other stored texts."""
        if self.listed:
            return [one | {SECRET: text} for one, text in zip(value, texts, strict=True)]
        return texts[0] if texts else value


_COLUMNS: dict[tuple[str, str], EncryptedColumn] = {}


def register(column: EncryptedColumn) -> None:
    """Put a column on the list that `encryption rotate` goes through."""
    _COLUMNS[column.table, column.column] = column


def columns() -> Iterator[EncryptedColumn]:
    """All of them, by table and column."""
    yield from (_COLUMNS[name] for name in sorted(_COLUMNS))
