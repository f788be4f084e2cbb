"""The bytes of the files that a thread has stored, read again."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from typing import Any
from uuid import UUID

from django.core.files.storage import default_storage
from django.db import connection

from ..errors import ContentAway
from ..state import deltas
from ..states import EventKind
from .events import Event
from .links import Broken

CHUNK = 1024 * 1024
REMEMBERED = 10_000


class Files:
    """Checks that each file an event names is there and has the bytes of its hash."""

    def __init__(self, thread: UUID, workspace: UUID) -> None:
        self._workspace = workspace
        self._good: set[str] = set()

    def see(self, events: Sequence[Event]) -> None:
        """Read the files that these events name, in chunks; raises Broken."""
        for event in events:
            if event.kind != EventKind.ARTIFACT_STORED:
                continue
            data = deltas.decode(event.data)
            if data["sha256"] not in self._good:
                self._read(event, data)
                if len(self._good) >= REMEMBERED:
                    self._good.clear()
                self._good.add(data["sha256"])

    def end(self, last_seq: int) -> None:
        """Files are shared in a workspace, so more of them than named are no fault."""

    def _read(self, event: Event, data: dict[str, Any]) -> None:
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT path, size FROM gp_artifact WHERE workspace_id = %s::uuid "
                "AND sha256 = %s::varchar",
                (self._workspace, data["sha256"]),
            )
            row = cursor.fetchone()
        name = data["name"]
        if row is None:
            raise Broken(event.seq, f"nothing is known of the file {name!r} any more")
        digest, size = sha256(), 0
        try:
            with default_storage.open(row[0], "rb") as file:
                while chunk := file.read(CHUNK):
                    digest.update(chunk)
                    size += len(chunk)
        except (FileNotFoundError, IsADirectoryError, NotADirectoryError) as error:
            raise Broken(event.seq, f"the file {name!r} cannot be read") from error
        except OSError as error:
            # Nothing is known of the bytes: the storage itself does not answer.
            why = error.strerror or type(error).__name__
            raise ContentAway(f"The storage gives no file: {why}.") from error
        if (digest.hexdigest(), size) != (data["sha256"], data["size"]) or size != row[1]:
            raise Broken(event.seq, f"the bytes of the file {name!r} were altered")
