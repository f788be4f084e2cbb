"""Encrypting stored secrets under the newest key, a row at a time, so that it can be interrupted.

What an older key encrypted, and what was stored before there was encryption, is written anew. Each
row is one transaction with its entry in the workspace's log, since the hash of the stored text is
on record there. Rows that no log records, such as data keys, go by the hundreds, with one entry.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final
from uuid import UUID

from django.db import connection, transaction

from checkpoints.encryption import ciphertext
from checkpoints.encryption.columns import EncryptedColumn, columns
from checkpoints.encryption.keys import key_ring
from checkpoints.errors import CannotDecrypt
from checkpoints.log.recorded import RowChange
from checkpoints.state import deltas
from checkpoints.states import WorkspaceEventKind as K

from .workspaces import lock_workspaces, log_setting

AT_ONCE: Final = 500
_FIRST: Final = UUID(int=0)


@dataclass(slots=True)
class Stored:
    """Counts of stored texts: under the newest key, under others, under none, or unreadable."""

    newest: int = 0
    older: int = 0
    plain: int = 0
    unreadable: int = 0
    keys: dict[str, int] = field(default_factory=lambda: defaultdict(int))

    @property
    def total(self) -> int:
        """All of them."""
        return self.newest + self.older + self.plain + self.unreadable


def stored_secrets() -> Stored:
    """Count the stored texts of all encrypted columns by their keys; changes nothing."""
    result = Stored()
    newest = key_ring()[0].ident
    for column in columns():
        for ident, _, value in _rows(column):
            for text in column.texts(value):
                key = ciphertext.key_of(text)
                result.keys[key] += 1
                if not ciphertext.is_encrypted(text):
                    result.plain += 1
                elif not _readable(column, text, ident):
                    result.unreadable += 1
                elif key == newest:
                    result.newest += 1
                else:
                    result.older += 1
    return result


def reencrypt(*, actor: str, seen: Callable[[int], None] = lambda _: None) -> int:
    """Encrypt under the newest key what is not; how many texts. What cannot be read is left.

    `seen` is called with the number so far, after each row.
    """
    done = 0
    for column in columns():
        if not column.recorded:
            for batch in _batches(column):
                if changed := _many(column, batch, actor):
                    done += changed
                    seen(done)
            continue
        for ident, workspace, value in _rows(column):
            if _is_current(column, value):
                continue
            done += _one(column, ident, workspace, actor)
            seen(done)
    return done


def _one(column: EncryptedColumn, ident: UUID, workspace: UUID, actor: str) -> int:
    with transaction.atomic(), connection.cursor() as cursor:
        # As `recorded_rows` does: in the other order the two would wait for each other.
        lock_workspaces([workspace])
        # Read again under the lock: somebody may have given it another secret meanwhile.
        cursor.execute(
            f"SELECT {column.column}{_text(column)} FROM {column.table} WHERE id = %s::uuid "
            "FOR NO KEY UPDATE",
            (ident,),
        )
        row = cursor.fetchone()
        if row is None or _is_current(column, value := _value(column, row[0])):
            return 0
        newest, changed, texts = key_ring()[0].ident, 0, []
        for text in column.texts(value):
            if ciphertext.key_of(text) != newest and _readable(column, text, ident):
                text, changed = column.encrypt(column.decrypt(text, ident), ident), changed + 1
            texts.append(text)
        if not changed:
            return 0
        after = column.with_texts(value, texts)
        cursor.execute(
            f"UPDATE {column.table} SET {column.column} = %s::{_type(column)} WHERE id = %s::uuid",
            (deltas.canonical(after).decode() if column.listed else after, ident),
        )
        data = {"of": column.noun, "id": str(ident), "texts": changed, "key": newest}
        change = RowChange({column.table: [ident]}, columns=(column.column,))
        log_setting(K.SECRETS_ENCRYPTED, workspace, data=data, actor=actor, change=change)
    return changed


def _many(column: EncryptedColumn, batch: Sequence[tuple[UUID, UUID, Any]], actor: str) -> int:
    """Encrypt anew what a batch of unrecorded rows needs; one entry for each workspace."""
    newest = key_ring()[0].ident
    due = [
        (ident, workspace, text)
        for ident, workspace, text in batch
        if ciphertext.key_of(text) != newest and _readable(column, text, ident)
    ]
    if not due:
        return 0
    counts: Counter[UUID] = Counter()
    with transaction.atomic(), connection.cursor() as cursor:
        # First, as an erasure does, which deletes such rows.
        lock_workspaces(sorted({workspace for _, workspace, _ in due}))
        for ident, workspace, text in due:
            after = column.encrypt(column.decrypt(text, ident), ident)
            # The text of before is its guard: the row may be gone, or a rotation beside this one.
            cursor.execute(
                f"UPDATE {column.table} SET {column.column} = %s::text "
                f"WHERE id = %s::uuid AND {column.column} = %s::text",
                (after, ident, text),
            )
            counts[workspace] += cursor.rowcount
        for workspace, texts in sorted(counts.items()):
            data = {"of": column.noun, "texts": texts, "key": newest}
            if texts:
                log_setting(K.SECRETS_ENCRYPTED, workspace, data=data, actor=actor, change=None)
    return counts.total()


def _rows(column: EncryptedColumn) -> Iterator[tuple[UUID, UUID, Any]]:
    """(id, workspace, value) of all rows."""
    for batch in _batches(column):
        yield from batch


def _batches(column: EncryptedColumn) -> Iterator[list[tuple[UUID, UUID, Any]]]:
    """The same in batches of some hundreds by keyset, in short statements."""
    last = _FIRST
    while True:
        with connection.cursor() as cursor:
            cursor.execute(
                f"SELECT id, workspace_id, {column.column}{_text(column)} FROM {column.table} "
                "WHERE id > %s::uuid ORDER BY id LIMIT %s",
                (last, AT_ONCE),
            )
            rows = cursor.fetchall()
        yield [(ident, workspace, _value(column, raw)) for ident, workspace, raw in rows]
        if len(rows) < AT_ONCE:
            return
        last = rows[-1][0]


def _is_current(column: EncryptedColumn, value: Any) -> bool:
    newest = key_ring()[0].ident
    return all(ciphertext.key_of(text) == newest for text in column.texts(value))


def _readable(column: EncryptedColumn, text: str, ident: UUID) -> bool:
    try:
        column.decrypt(text, ident)
    except CannotDecrypt:
        return False
    return True


def _value(column: EncryptedColumn, raw: Any) -> Any:
    return deltas.decode(raw) if column.listed else raw


def _text(column: EncryptedColumn) -> str:
    return "::text" if column.listed else ""


def _type(column: EncryptedColumn) -> str:
    return "jsonb" if column.listed else "text"
