"""Results that are too large for their record: kept as a file, read back when a node works again.

What a call returned has happened, so its size refuses nothing. Beyond `RECORD_BYTES` the record
holds the mark `large`, and an artifact the form itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import IO, Any, Final

import structlog

from checkpoints.errors import GatepostError
from checkpoints.state import deltas, marked

from ..authoring.errors import StepFailed
from .guard import unguarded

log = structlog.get_logger("gatepost.engine")
# What is recorded beside the state, as large as a state may be.
RECORD_BYTES: Final = deltas.LIMITS.state_bytes
MEDIA_TYPE: Final = "application/json"
NAME_MAX: Final = 200


def bounded_form(
    form: Any,
    name: str,
    keep: Callable[[str, str, list[bytes]], Any],
    at_most: int = RECORD_BYTES,
) -> Any:
    """The form of a result as its record takes it: itself, or the mark of one that is too large.

    `name` is the call; `keep(name, media_type, chunks)` stores a file and returns its reference.
    Without storage the record still says that the call happened.
    """
    raw = deltas.canonical(form)
    if len(raw) <= at_most:
        return form
    try:
        file = keep(f"{name[:NAME_MAX]} result.json", MEDIA_TYPE, [raw])
    except (GatepostError, OSError) as error:
        log.warning("result.without_file", tool=name, size=len(raw), error=str(error))
        file = None
    return marked.large(raw, file)


def value_of(form: Any, name: str, opened: Callable[[str], IO[bytes]]) -> Any:
    """The value that a record holds; `opened(sha256)` opens a file.

    Raises StepFailed where the value is in a file that is not there: a node that works again must
    not get another value than it got first.
    """
    part = marked.large_part(form)
    if part is None:
        return marked.unmark(form)
    size = f"{part['bytes']:,} bytes, and a record takes at most {RECORD_BYTES:,}"
    mend = (
        "Let it return less, or keep what is large with ctx.artifact; then roll back and continue."
    )
    if part["file"] is None:
        raise StepFailed(
            f"{name!r} happened, and what it returned is not on record: it had {size}, and the "
            f"storage of files (GATEPOST_FILES) took no file. {mend}"
        )
    try:
        with unguarded(), opened(part["file"]["$artifact"]) as file:
            raw = file.read()
    except (GatepostError, OSError) as error:
        raise StepFailed(
            f"{name!r} happened, and what it returned can't be read: it had {size}, and its file "
            f"in the storage (GATEPOST_FILES) is not there: {error} Restore the file, then "
            "retry."
        ) from error
    return marked.unmark(deltas.decode(raw.decode()))
