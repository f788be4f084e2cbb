"""Row 3: whether a step costs more the longer its thread is."""

from __future__ import annotations

from uuid import UUID

from django.db import connection

from .. import parts
from ..ground import median
from ..report import Measured
from ..servers import Bench
from .thread import play

SIZE, WINDOW = 500, 100
LENGTHS = {1_000: 7, 10_000: 3}

_GAPS = """
SELECT extract(epoch FROM at - lag(at) OVER (ORDER BY seq))::float8 * 1000
FROM gp_event WHERE thread_id = %s::uuid AND kind = 'checkpoint.committed' ORDER BY seq
"""


def gaps(thread: UUID) -> list[float]:
    """Milliseconds from each step of a thread to the next, by the database's clock."""
    with connection.cursor() as cursor:
        cursor.execute(_GAPS, (thread,))
        return [row[0] for row in cursor.fetchall() if row[0] is not None]


def measure(bench: Bench, scale: float) -> Measured:
    """Medians of the first and last 100 steps of several threads; the median of their ratios."""
    measured = Measured({})
    with parts.worker(bench):
        for _ in range(parts.SLOTS * 2):
            play(60, SIZE)
        for length, rounds in LENGTHS.items():
            steps = max(2 * WINDOW + 10, int(length * scale))
            ratios, firsts, lasts, wholes = [], [], [], []
            for _ in range(max(1, round(rounds * min(1.0, scale * 3)))):
                found_gaps = gaps(play(steps, SIZE, seconds=600))
                first, last = median(found_gaps[:WINDOW]), median(found_gaps[-WINDOW:])
                ratios.append(last / first)
                firsts.append(first)
                lasts.append(last)
                wholes.append(sum(found_gaps[-WINDOW:]) / sum(found_gaps[:WINDOW]))
            name = f"steps_{length}"
            measured.values[name] = measured.ratios[name] = median(ratios)
            measured.baselines[name] = round(median(firsts), 4)
            measured.details[name] = {
                "steps": steps,
                "first_100_ms": round(median(firsts), 4),
                "last_100_ms": round(median(lasts), 4),
                "ratio_of_sums": round(median(wholes), 3),
                "threads": len(ratios),
            }
    return measured
