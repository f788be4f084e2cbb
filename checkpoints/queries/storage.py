"""How much a thread takes: one query whose cost does not grow with the steps."""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID

from .. import payloads
from ..errors import NotFound
from ..payload_kinds import BY_SIZE, FILE
from ..postgres.named_rows import fetch_named
from ..postgres.sql_files import sql_file
from ..views import StorageRow

# Rows of each log that are sampled, evenly spread; a shorter thread is added up in full.
SAMPLE = 64
# Activities that are counted one by one; of more the number is estimated.
EXACT = 200
# What a row of each kind takes beside the values that are measured, its index entries included.
EVENT, CHECKPOINT, ACTIVITY, CONTENT = 360, 420, 460, 200

SQL = sql_file(
    __file__,
    sample=str(SAMPLE),
    exact=str(EXACT),
    event=str(EVENT),
    checkpoint=str(CHECKPOINT),
    activity=str(ACTIVITY),
    content=str(CONTENT),
)


def storage(thread_id: UUID) -> StorageRow:
    """Rows and bytes of a thread's own past, without what it shares with a base; raises NotFound.

    Counts are exact, but more than 200 activities are estimated from the newest steps. Bytes
    are those of the values as stored and a share per row, estimated from a sample on a thread
    with more than 64 rows of a kind. Contents in files are counted where they lie; `files_away`
    says that they could not be.
    """
    result = fetch_named(SQL.storage, (thread_id,))
    if not result:
        raise NotFound("There is no such thread.")
    counted = result[0]._asdict()
    kind = counted.pop("kind")
    row = StorageRow(**counted)
    if kind in (FILE, BY_SIZE):
        held = payloads.FilePayloads().held(thread_id)
        if held is None:
            return replace(row, files_away=True)
        n, size = held
        row = replace(row, bytes=row.bytes + size, contents=row.contents + n, file_bytes=size)
    return row
