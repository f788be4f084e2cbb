"""Tables that people upload."""

from __future__ import annotations


def shop_table(rows: int, *, broken: int = 0) -> bytes:
    """A table of sales with real gaps; the last `broken` rows hold words in `price`."""
    lines = ["shop,day,price,pieces,weight"]
    for i in range(rows):
        price = "on demand" if i >= rows - broken else f"{3 + (i * 7919 % 997) / 100 + i % 3:.2f}"
        weight = "" if i % 17 == 5 else f"{(i * 104_729 % 1_009) / 50:.2f}"
        day = f"2025-{1 + i % 12:02}-{1 + i % 28:02}"
        lines.append(f"{('North', 'South', 'Harbour')[i % 3]},{day},{price},{i % 9},{weight}")
    return "\n".join(lines).encode()
