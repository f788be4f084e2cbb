"""The price of 1,000,000 events in the database a month, beside the model calls they record."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Final

from django.conf import settings

from checkpoints.queries.installation.table_sizes import RECENT_THREADS, TableSizes
from dashboard.html.charts.ranks import ranks

from .figure import Column, Figure, decimal_text, money
from .reads import Overview

GB: Final = 2**30
EVENTS: Final = 1_000_000
# Tables with less than this share of all bytes are one row.
SMALL: Final = 0.01
ALL, OTHERS, CALLS = "all tables, a month", "other tables", "model calls, once"


def storage(look: Overview) -> Figure:
    """Bytes and price by table; of the whole installation, whatever the period and agent."""
    price: Decimal = settings.GATEPOST_STORAGE_PRICE
    sizes = look.sizes
    rows = tuple(_rows(sizes, price)) if sizes.events else ()
    return Figure(
        "storage",
        f"{EVENTS:,} events in the database",
        f"What {EVENTS:,} events of this installation take in PostgreSQL, with their threads, "
        "checkpoints and indexes, and cost a month at "
        f"${decimal_text(price)} per GB. Model calls: what those of the last {RECENT_THREADS:,} "
        "threads of this workspace cost for as many events. Files, backups and the hot store are "
        "not in it.",
        (
            Column("what", "What", "text"),
            Column("bytes_per_event", "Bytes per event"),
            Column("cost", "Cost", "money"),
        ),
        rows,
        ranks=ranks(
            [(str(what), (float(cost or 0),)) for what, _, cost in rows],
            kinds=[("cost", "run")],
            words=money,
        ),
    )


def _rows(sizes: TableSizes, price: Decimal) -> Iterator[tuple[str, int | None, Decimal | None]]:
    total = sum(sizes.tables.values())

    def row(what: str, size: int) -> tuple[str, int, Decimal]:
        per_month = Decimal(size) * EVENTS / sizes.events / GB * price
        return what, round(size / sizes.events), per_month.quantize(Decimal("0.000001"))

    large = {
        name: size
        for name, size in sizes.tables.items()
        if size >= SMALL * total or name == "event"
    }
    yield row(ALL, total)
    for name, size in sorted(large.items(), key=lambda one: -one[1]):
        yield row(name.replace("_", " "), size)
    if others := total - sum(large.values()):
        yield row(OTHERS, others)
    if sizes.recent_events:
        cost = sizes.cost * EVENTS / sizes.recent_events
        yield CALLS, None, cost.quantize(Decimal("0.000001"))
