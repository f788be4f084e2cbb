"""Large values on their way into the statement that names them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from checkpoints.tables.columns import CONTENT as COLUMNS

from .text import row_sql

# The same content of a thread is there once; a row per content, in one INSERT of one shape.
CONTENT = row_sql(
    COLUMNS,
    {
        "thread_id": "t.id",
        "workspace_id": "t.workspace_id",
        "sha256": "unnest(%s::varchar[])",
        "body": "unnest(%s::text[])",
    },
    "ON CONFLICT DO NOTHING",
)


def content_params(contents: Mapping[str, bytes]) -> Any:
    """Hashes and bodies as parameters."""
    return CONTENT.values(sha256=list(contents), body=[body.decode() for body in contents.values()])
