"""The newest progress report of a thread, kept in Valkey for a minute. Not history."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any
from uuid import UUID

from .hints import CHANNEL, attempt

if TYPE_CHECKING:
    import redis

KEPT_SECONDS = 60
TEXT_MAX = 300
STREAM_MAX = 4_000


def _key(thread_id: UUID) -> str:
    return f"progress:{thread_id}"


def _number(value: Any) -> int | float | None:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def clean(progress: Mapping[str, Any]) -> dict[str, Any]:
    """{"done", "total", "text"} of a report, whatever else it carries.

    A report of what a model has said so far has its newest text as "stream" ("" when it has ended),
    and the "node" that asks.
    """
    report = {
        "done": _number(progress.get("done")),
        "total": _number(progress.get("total")),
        "text": str(progress.get("text") or "")[:TEXT_MAX],
    }
    stream = progress.get("stream")
    if isinstance(stream, str):
        report["stream"] = stream[-STREAM_MAX:]
        report["node"] = str(progress.get("node") or "")[:TEXT_MAX]
    return report


def publish_progress(thread_id: UUID, workspace: UUID, progress: Mapping[str, Any]) -> None:
    """Keep the report for pages that open now and push it to those that are open; never raises."""
    report = clean(progress)
    saved = json.dumps(report)
    sent = json.dumps({"t": str(thread_id), "w": str(workspace), "p": report})

    def both(valkey: redis.Redis) -> None:
        pipe = valkey.pipeline(transaction=False)
        if report.get("stream") == "":
            pipe.delete(_key(thread_id))
        else:
            pipe.set(_key(thread_id), saved, ex=KEPT_SECONDS)
        pipe.publish(CHANNEL, sent)
        pipe.execute()

    attempt(both)


def forget_progress(thread_id: UUID) -> None:
    """Take the report of a thread away; without Valkey it ends by itself within a minute."""
    attempt(lambda valkey: valkey.delete(_key(thread_id)))


def read_progress(thread_ids: Sequence[UUID]) -> dict[UUID, dict[str, Any]]:
    """The newest reports of these threads; without those that have none, empty without Valkey."""
    if not thread_ids:
        return {}
    result: Any = attempt(lambda valkey: valkey.mget([_key(t) for t in thread_ids])) or ()
    return {t: clean(json.loads(raw)) for t, raw in zip(thread_ids, result, strict=False) if raw}
