"""Numbers of things in sentences."""

from __future__ import annotations


def counted(number: int, what: str = "invoice") -> str:
    """A number of things, such as "1 invoice" and "1,200 mails"."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"
