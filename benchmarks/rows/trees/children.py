"""Row 15: many children of one parent: started, worked, joined, beside as many plain threads."""

from __future__ import annotations

import math
import time
from uuid import UUID

from django.db import connection

from checkpoints.states import Status
from checkpoints.store import CHILDREN_AT_ONCE

from ... import parts
from ...ground import start, wait_for
from ...report import Measured
from ...servers import Bench

CHILDREN = 10_000
PLAIN = 1_000
# What a parent writes beside its batches: its lease, its waits, its wake, its joins, its end.
OWN_WRITES = 10

_ENDS = """
SELECT extract(epoch FROM e.at)::float8 FROM gp_thread th JOIN gp_event e ON e.thread_id = th.id
AND e.seq = th.last_seq WHERE th.parent = %s::uuid AND th.status = 'succeeded' ORDER BY e.at
"""
_PARENT = """
SELECT count(DISTINCT at), extract(epoch FROM max(at) - min(at))::float8 FROM gp_event
WHERE thread_id = %s::uuid
"""
_PLAIN = """
SELECT count(*), extract(epoch FROM max(th.last_at) - min(th.created_at))::float8
FROM gp_thread th WHERE th.id = ANY(%s::uuid[]) AND th.status = 'succeeded'
"""


def plain_ms(number: int) -> float:
    """Milliseconds for each of so many threads that nobody started but the bench."""
    ids = [start("bench-child", number=n) for n in range(number)]
    deadline = time.monotonic() + 300
    while True:
        with connection.cursor() as cursor:
            cursor.execute(_PLAIN, (ids,))
            done, seconds = cursor.fetchone()
        if done == number:
            return float(seconds) * 1000 / number
        if time.monotonic() > deadline:
            raise TimeoutError(f"{number - done} threads still work")
        time.sleep(0.05)


def measure(bench: Bench, scale: float) -> Measured:
    """One parent with all of them; the plain threads before and after it, by the database's clock.

    The last tenth of the ends against the first, from when all were started; a child's share of
    the whole, from the parent's start to its end, against a plain thread's; and how often the
    parent was written for each batch of births.
    """
    number = max(200, int(CHILDREN * scale))
    measured = Measured({})
    with parts.worker(bench):
        wait_for(start("bench-lead", number=200), Status.SUCCEEDED)
        plain = [plain_ms(int(PLAIN * min(1.0, scale * 10)))]
        parent: UUID = start("bench-lead", number=number)
        wait_for(parent, Status.SUCCEEDED, seconds=900, first_after=number / 2_000, every=0.25)
        plain.append(plain_ms(int(PLAIN * min(1.0, scale * 10))))
    with connection.cursor() as cursor:
        cursor.execute(_ENDS, (parent,))
        ends = [float(at) for (at,) in cursor.fetchall()]
        cursor.execute(_PARENT, (parent,))
        writes, seconds = cursor.fetchone()
    if len(ends) != number:
        raise RuntimeError(f"{len(ends)} children succeeded, {number} were started")
    tenth = number // 10
    # While the parent starts them it has one of the two slots: the first tenth is counted after.
    first, last = ends[2 * tenth] - ends[tenth], ends[-1] - ends[-tenth - 1]
    each = float(seconds) * 1000 / number
    batches = math.ceil(number / CHILDREN_AT_ONCE)
    measured.values["last"] = measured.ratios["last"] = last / first
    measured.values["child"] = measured.ratios["child"] = each / (sum(plain) / len(plain))
    measured.values["writes"] = writes / (batches + OWN_WRITES)
    measured.baselines["child"] = round(sum(plain) / len(plain), 3)
    measured.details |= {"children": number, "ms_per_child": round(each, 3), "writes": writes}
    return measured
