"""Large values on their way into the statement that names them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .text import Columns

# The same content of a thread is there once; a row per content, in one INSERT of one shape.
CONTENT = Columns(
    "gp_content",
    {
        "thread_id": "t.id",
        "workspace_id": "t.workspace_id",
        "sha256": "unnest(%s::varchar[])",
        "body": "unnest(%s::text[])",
    },
    "ON CONFLICT DO NOTHING",
)


def content_params(contents: Mapping[str, bytes]) -> tuple[Any, ...]:
    """Hashes and bodies, in the order of the columns."""
    return list(contents), [body.decode() for body in contents.values()]
