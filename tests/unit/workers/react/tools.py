"""Tools that the loops of these tests show to a model."""

from __future__ import annotations

from typing import Any

from gatepost import (
    Gate,
    tool,
)


def add(a: int, b: int = 1) -> int:
    """Add two numbers."""
    return a + b


def look_up(city: str) -> dict[str, Any]:
    """Look up the weather of a city."""
    return {"city": city, "degrees": 7}


@tool("mail.send", idempotent=True)
def send(to: str, text: str = "", *, key: str) -> str:
    """Send a mail."""
    return f"sent to {to}"


REVIEW = Gate("Send the mail?", risk="low")
