"""Restore a backup into an empty installation, and prove that it is what was backed up."""

from __future__ import annotations

import io
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, Final

from django.conf import settings
from django.core.files.storage import Storage
from django.core.management import call_command
from django.db import connection
from pydantic import BaseModel

from dashboard.configuration.database import address
from dashboard.errors import Conflict
from dashboard.operate.embedded.postgres import Postgres
from dashboard.operate.embedded.process.folders import EmbeddedError, prepare
from dashboard.operate.embedded.process.lock import DataLock
from dashboard.operate.file_copies import Copied, HashedFile, copy_files, names_in
from dashboard.records.management.commands.verify import Verified

from . import manifest, programs
from .made import PROGRESS_FILES, folder_of, trees
from .manifest import ANCHOR, DUMP

TRANSACTIONS_AT_ONCE: Final = 200_000
DAMAGE_SHOWN: Final = 20
# Counts up the server's transactions, one by one: nobody else may set the number.
_ADVANCE: Final = """
DO $$ BEGIN
  FOR i IN 1..{times} LOOP
    EXIT WHEN pg_current_xact_id()::text::bigint >= {until};
    COMMIT;
  END LOOP;
END $$
"""
_RELATIONS: Final = """
SELECT count(*) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p', 'v', 'm', 'S', 'f')
  AND n.nspname <> 'information_schema' AND n.nspname NOT LIKE 'pg\\_%%'
"""


class Restored(BaseModel):
    """A restored backup: the time of its snapshot, and the result of its verification."""

    at: str
    files: int
    seconds: float
    verified: Verified


@contextmanager
def database_server() -> Iterator[None]:
    """Start the embedded server for as long as this works, unless DATABASE_URL names another.

    Raises Conflict where the data folder is in use.
    """
    if address("DATABASE_URL"):
        yield
        return
    postgres = Postgres(settings.PLACES)
    try:
        prepare(settings.PLACES)
        lock = DataLock(settings.PLACES.data).take()
        try:
            postgres.start()
            postgres.wait()
            postgres.create_database(settings.EMBEDDED["NAME"])
            yield
        finally:
            connection.close()
            postgres.stop()
            lock.release()
    except EmbeddedError as error:
        raise Conflict(str(error)) from error


def check(folder: Path, *, unsigned: bool, say: Callable[[str], None]) -> dict[str, Any]:
    """Compare every file of a backup with its manifest, whose first line is returned.

    Raises Invalid where the manifest is damaged, and Conflict, which names the damaged files.
    """
    begin = manifest.read(folder, unsigned=unsigned)
    _refuse_damage(folder, say)
    return begin


def restore(
    folder: Path, begin: dict[str, Any], *, unsigned: bool, say: Callable[[str], None]
) -> Restored:
    """Restore a backup that was checked (`begin` is what its manifest says), and verify the result.

    1. Refuse an older server, and a database or file storage that is not empty.
    2. Restore the database in one transaction, then the files.
    3. Migrate: tables of an older version, and the rights of the runtime role.
    4. Count the server's transactions up to those of the former server, see `_advance`.
    5. Verify every log, row and file, against the anchor that the backup brings along.

    Raises Conflict; once step 2 is done, what was restored stays for inspection.
    """
    began = time.monotonic()
    _refuse_other_servers(begin)
    _refuse_full()
    _restore_database(folder, begin, say)
    n_files = _restore_files(folder, say)
    call_command("migrate", interactive=False, verbosity=0)
    _advance(begin["next_transaction"], say)
    say("verifying ...")
    verified = _verify(None if unsigned else folder / ANCHOR)
    return Restored(
        at=begin["at"],
        files=n_files,
        seconds=round(time.monotonic() - began, 1),
        verified=verified,
    )


def _refuse_damage(folder: Path, say: Callable[[str], None]) -> None:
    n = 0

    def progress(_: HashedFile) -> None:
        nonlocal n
        n += 1
        if n % PROGRESS_FILES == 0:
            say(f"compared {n:,} files with the manifest ...")

    damage = [*islice(manifest.damage(folder, progress), DAMAGE_SHOWN)]
    if damage:
        raise Conflict(f"The backup is damaged, nothing was restored. {' '.join(damage)}")


def _refuse_other_servers(begin: dict[str, Any]) -> None:
    major = programs.server_major()
    if major < begin["postgres"]:
        raise Conflict(
            f"The backup is of PostgreSQL {begin['postgres']}, and this server is {major}: "
            "restore it onto the same version or a newer one."
        )


def _refuse_full() -> None:
    with connection.cursor() as cursor:
        cursor.execute(_RELATIONS)
        (n_relations,) = cursor.fetchone()
    if n_relations:
        raise Conflict("The database is not empty: name one that has no tables.")
    for storage in trees().values():
        if name := _first_name(storage):
            raise Conflict(f"The file storage is not empty ({name}): name an empty one.")


def _first_name(storage: Storage) -> str:
    return next(names_in(storage), "")


def _restore_database(folder: Path, begin: dict[str, Any], say: Callable[[str], None]) -> None:
    pg_restore = programs.program("pg_restore", major=begin["postgres"])
    began = time.monotonic()
    options = ("--no-owner", "--no-privileges", "--exit-on-error", "--single-transaction")
    programs.perform(
        [pg_restore, *options, folder / DUMP],
        progress=lambda: say(f"database: {time.monotonic() - began:.0f} s so far ..."),
    )
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")


def _restore_files(folder: Path, say: Callable[[str], None]) -> int:
    n_files = 0
    for tree, storage in trees().items():
        counts = Copied()
        for _ in copy_files(folder_of(folder, tree), storage, counts):
            n_files += 1
            if n_files % PROGRESS_FILES == 0:
                say(f"files: {n_files:,} so far ...")
    return n_files


def _advance(until: int, say: Callable[[str], None]) -> None:
    """Count the server's transactions up to those of the server that was backed up.

    Readers across threads go by the number of the transaction that wrote an event. On a new server
    restored events would lie in the future, unread until it has come so far.
    """
    with connection.cursor() as cursor:
        cursor.execute("SET synchronous_commit = off")
        while True:
            cursor.execute("SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint")
            (now,) = cursor.fetchone()
            if now >= until:
                break
            say(f"transactions: {until - now:,} to go ...")
            times = min(until - now, TRANSACTIONS_AT_ONCE)
            cursor.execute(_ADVANCE.format(times=times, until=until))
        cursor.execute("RESET synchronous_commit")


def _verify(anchor: Path | None) -> Verified:
    """Verify everything, as the command does."""
    answer = io.StringIO()
    try:
        call_command("verify", as_json=True, anchor=anchor, stdout=answer)
    except SystemExit:
        if not answer.getvalue():
            raise
    return Verified.model_validate_json(answer.getvalue())
