"""Asks a model where one is configured; where none is, nothing stands in for it."""

from __future__ import annotations

from typing import Any

from gatepost import Context, current


def find_model() -> bool:
    """Answer True if there is a model; an activity, so that the answer holds after a restart."""
    return current().has_model


def ask_model(ctx: Context, *parts: Any, system: str) -> str:
    """The model's answer; empty where there is no model."""
    return ctx.model(*parts, system=system).strip() if ctx.activity(find_model) else ""
