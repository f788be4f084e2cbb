"""The world of the scripts: what is noted here has happened; a place to be killed at."""

from __future__ import annotations

import os
import time
from pathlib import Path

OUTSIDE = Path(os.environ["OUTSIDE"])
HOLD = os.environ.get("HOLD", "")


def note(file: str, text: str) -> None:
    """Add a line to a file."""
    with (OUTSIDE / file).open("a") as log:
        log.write(text + "\n")


def stay(point: str) -> None:
    """Stay here for ever when this is the place to be killed at."""
    if point == HOLD:
        (OUTSIDE / f"at-{point}").touch()
        time.sleep(120)


def paid(order: str) -> int:
    """Look up the cents that were paid for an order."""
    note("looked", order)
    stay("looking")
    return 2000


def refund(order: str, cents: int, key: str = "") -> str:
    """Pay back; with a key once."""
    note("called", key)
    receipt = OUTSIDE / f"receipt-{key}"
    if not key or not receipt.exists():
        if key:
            receipt.touch()
        note("paid", f"{order} {cents}")
    stay("after paying")
    return f"receipt for {cents}"
