"""Tables that people upload."""

from __future__ import annotations

import math
import random

SHOPS = {"Harbour": 11.4, "Market hall": 9.6, "North": 8.1, "Station": 12.9, "Old town": 10.2}


def shop_table(rows: int, *, broken: int = 0) -> bytes:
    """A table of sales with real gaps; the last `broken` rows hold words in `price`."""
    dice = random.Random(7)
    lines = ["shop,day,price,pieces,weight"]
    for i in range(rows):
        shop, month = dice.choice(list(SHOPS)), dice.randint(1, 12)
        pieces = dice.randint(1, 9)
        dear = SHOPS[shop] + 1.8 * math.sin(month / 2) - 0.15 * pieces + dice.gauss(0, 2.2)
        price = "on demand" if i >= rows - broken else f"{max(0.5, dear):.2f}"
        weight = "" if dice.random() < 0.06 else f"{pieces * dice.uniform(0.3, 1.1):.2f}"
        day = f"2025-{month:02}-{dice.randint(1, 28):02}"
        lines.append(f"{shop},{day},{price},{pieces},{weight}")
    return "\n".join(lines).encode()
