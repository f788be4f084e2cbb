"""The resources that a call used, as the end of a sentence about it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .text import cut, number, span


def seconds_taken(activity: Any) -> float | None:
    """Seconds that an activity worked: as measured, else between its two records if they differ."""
    usage = activity.usage if isinstance(activity.usage, Mapping) else {}
    if usage.get("milliseconds"):
        return float(usage["milliseconds"]) / 1000
    if not activity.finished_at or not activity.started_at:
        return None
    return (activity.finished_at - activity.started_at).total_seconds() or None


def usage_text(data: Mapping[str, Any]) -> str:
    """Model, tokens, cost and time of a call, after a comma; "" where nothing is known."""
    usage = data.get("usage") or {}
    parts = []
    if usage.get("model"):
        parts.append(cut(usage["model"]))
    if usage.get("tokens"):
        parts.append(f"{number(usage['tokens'])} tokens")
    if usage.get("cost", "0") != "0":
        parts.append(f"${usage['cost']}")
    if usage.get("unpriced"):
        parts.append("unpriced")
    if usage.get("from_cache"):
        parts.append("from the result cache")
    elif usage.get("reused_from"):
        parts.append("reused, not called again")
    if usage.get("reused_tokens"):
        parts.append(f"{number(usage['reused_tokens'])} tokens saved")
    if usage.get("milliseconds"):
        parts.append(span(usage["milliseconds"] / 1000))
    return f", {', '.join(parts)}" if parts else ""
