"""Files of erased threads: their folders, and artifacts that no other thread refers to."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final
from uuid import UUID

from django.core.files.storage import default_storage
from django.db import connection

from checkpoints.errors import ContentAway
from checkpoints.log.remains import parts
from checkpoints.payloads import thread_folder
from checkpoints.postgres.sql_files import sql_file

from ..installation.artifacts import forget_file

SQL: Final = sql_file(__file__)
THREADS_AT_ONCE: Final = 200
_NAMED: Final = re.compile(rb'"\$artifact": ?"([0-9a-f]{64})"')
_NONE: Final = UUID(int=0)


def note_files(erasure: UUID, thread: UUID, workspace: UUID) -> None:
    """Note the files of a thread that go with it; to be called while its content is there."""
    named = [*_artifacts_in_folder(thread), *_artifacts_of_parts(thread)]
    with connection.cursor() as cursor:
        cursor.execute(
            SQL.note_artifacts, (erasure, workspace, named, *([thread] * 4), workspace, erasure)
        )
        cursor.execute(SQL.note_folder, (erasure, workspace, thread_folder(thread)))


def remove_files(erasure: UUID) -> bool:
    """Delete the files that are noted for an erasure; False where the storage does not answer.

    An artifact that any other thread of the workspace refers to stays.
    """
    with connection.cursor() as cursor:
        cursor.execute(SQL.due, (erasure,))
        due = cursor.fetchall()
    try:
        for ident, workspace, path, sha in due:
            n = 0
            if not sha:
                n = _remove_folder(path)
            elif not _is_used(workspace, sha):
                with connection.cursor() as cursor:
                    cursor.execute(SQL.forget_artifact, (workspace, sha))
                forget_file(workspace, sha, path)
                n = 1
            with connection.cursor() as cursor:
                cursor.execute(SQL.removed, (n, ident))
    except OSError:
        return False
    return True


def _is_used(workspace: UUID, sha: str) -> bool:
    """Return whether a thread that is not being erased has an artifact; in short statements."""
    after = _NONE
    while True:
        with connection.cursor() as cursor:
            cursor.execute(SQL.threads_after, (workspace, after, THREADS_AT_ONCE))
            threads = [row[0] for row in cursor.fetchall()]
            if not threads:
                return False
            cursor.execute(SQL.uses, ([threads, f"%{sha}%"] * 4))
            if cursor.fetchone()[0]:
                return True
            for naming in _naming():
                cursor.execute(
                    f"SELECT EXISTS (SELECT 1 FROM ({naming}) n(text) WHERE n.text LIKE %s::text)",
                    (threads, f"%{sha}%"),
                )
                if cursor.fetchone()[0]:
                    return True
        if any(sha in _artifacts_in_folder(thread) for thread in threads):
            return True
        after = threads[-1]


def _naming() -> list[str]:
    return [part.naming for part in parts() if part.naming]


def _artifacts_of_parts(thread: UUID) -> Iterator[str]:
    """The artifacts that rows of upper floors name, such as a reviewer's edit, by their hashes."""
    for naming in _naming():
        with connection.cursor() as cursor:
            cursor.execute(naming, ([thread],))
            for (text,) in cursor.fetchall():
                yield from (sha.decode() for sha in set(_NAMED.findall(text.encode())))


def _artifacts_in_folder(thread: UUID) -> Iterator[str]:
    """The artifacts that contents in the folder of a thread name, by their hashes."""
    folder = f"{thread_folder(thread)}/contents"
    try:
        _, names = default_storage.listdir(folder)
        for name in names:
            with default_storage.open(f"{folder}/{name}", "rb") as file:
                for sha in set(_NAMED.findall(file.read())):
                    yield sha.decode()
    except FileNotFoundError:
        return
    except OSError as error:
        raise ContentAway(f"{folder}: {error.strerror}.") from error


def _remove_folder(path: str) -> int:
    """Delete a folder of the storage with all that lies in it; how many files that were."""
    try:
        folders, files = default_storage.listdir(path)
    except FileNotFoundError:
        return 0
    for name in files:
        default_storage.delete(f"{path}/{name}")
    n = len(files) + sum(_remove_folder(f"{path}/{name}") for name in folders)
    default_storage.delete(path)
    return n


def count_removed(erasure: UUID) -> int:
    """Count how many files of an erasure are gone; forgets the notes of them."""
    with connection.cursor() as cursor:
        cursor.execute(SQL.forget_notes, (erasure,))
        return int(cursor.fetchone()[0])
