"""Numbers as people type them: with commas between thousands, and nowhere else."""

from __future__ import annotations

import re
from typing import Final

_THOUSANDS: Final = re.compile(r"[-+]?[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]*)?")


def without_thousands(text: str) -> str:
    """`1,234.50` without its comma; any other text as it is, so that `1,5` never becomes 15."""
    return text.replace(",", "") if _THOUSANDS.fullmatch(text) else text
