"""Queued, working and waiting: what a page shows of a step, computed a second way from the log."""

from __future__ import annotations

import html as escapes
import random
import re
from datetime import UTC, datetime, timedelta
from uuid import UUID

from django.contrib.auth import get_user_model
from django.test import Client
from hypothesis import given
from hypothesis import strategies as st

from checkpoints import queries
from checkpoints.states import TRANSITIONS, Status
from dashboard.html.step_times import TONES, Times, timeline
from dashboard.wording.text import span
from tests.unit.checkpoints.builders import rows
from tests.unit.workers.conftest import Bench

T0 = datetime(2026, 1, 2, tzinfo=UTC)


@given(st.randoms(use_true_random=False), st.integers(1, 25))
def test_a_span_is_split_by_the_statuses_it_lay_in(dice: random.Random, n: int) -> None:
    status: Status | None = None
    at, changes, by_second = 0, [], []
    for _ in range(n):
        kind, after = dice.choice(sorted(TRANSITIONS[status].items()))
        lasting = dice.randrange(0, 9)
        changes.append((str(kind), T0 + timedelta(seconds=at)))
        by_second += [after] * lasting
        at, status = at + lasting, after
        if not TRANSITIONS[status]:
            break
    begin, end = sorted(dice.randrange(0, at + 1) for _ in range(2))
    result = timeline(changes).between(T0 + timedelta(seconds=begin), T0 + timedelta(seconds=end))
    counted = {"queued": 0.0, "working": 0.0, "waiting": 0.0}
    for one in by_second[begin:end]:
        if one in TONES:
            counted[TONES[one]] += 1
    assert result == Times(**counted)


def test_before_what_was_read_nothing_is_guessed() -> None:
    line = timeline([("lease.acquired", T0)])
    assert line.between(T0 - timedelta(seconds=1), T0) is None
    assert timeline([]).between(T0, T0) is None


# The same by the log alone: each event that moves a status opens a stretch that ends at the next.
BY_THE_LOG = """
WITH moves AS (
  SELECT at AS begun, lead(at, 1, 'infinity') OVER (ORDER BY seq) AS ended, CASE kind
    WHEN 'thread.started' THEN 'queued' WHEN 'thread.forked' THEN 'queued'
    WHEN 'thread.woken' THEN 'queued' WHEN 'thread.resumed' THEN 'queued'
    WHEN 'thread.retried' THEN 'queued' WHEN 'thread.handed_back' THEN 'queued'
    WHEN 'rollback.run_on' THEN 'queued' WHEN 'lease.acquired' THEN 'working'
    WHEN 'lease.taken_over' THEN 'working' WHEN 'rollback.started' THEN 'working'
    WHEN 'rollback.retried' THEN 'working' WHEN 'thread.succeeded' THEN 'over'
    WHEN 'thread.cancelled' THEN 'over' ELSE 'waiting' END AS tone
  FROM gp_event WHERE thread_id = %(thread)s AND kind = ANY(ARRAY['thread.started',
    'thread.forked', 'thread.woken', 'thread.resumed', 'thread.retried', 'thread.handed_back',
    'rollback.run_on', 'lease.acquired', 'lease.taken_over', 'rollback.started',
    'rollback.retried', 'thread.succeeded', 'thread.cancelled', 'thread.suspended', 'thread.slept',
    'thread.paused', 'thread.failed', 'thread.parked', 'state.edited', 'rollback.finished'])
)
SELECT c.id::text, m.tone, sum(extract(epoch FROM
  least(m.ended, c.created_at) - greatest(m.begun, p.created_at)))::float
FROM gp_checkpoint c JOIN gp_checkpoint p ON p.id = c.parent AND p.thread_id = c.thread_id
JOIN moves m ON m.begun < c.created_at AND m.ended > p.created_at
WHERE c.thread_id = %(thread)s AND c.source NOT IN ('fork', 'rollback', 'import')
GROUP BY 1, 2
"""


def _stretch(thread: UUID) -> None:
    """Let the thread have lived 4,000 times as slowly, so that its times are seconds to hours."""
    rows("SET LOCAL session_replication_role = replica")
    begun = rows(
        "SELECT created_at FROM gp_checkpoint WHERE thread_id = %s AND number = 0", (thread,)
    )
    for table, column in (("gp_event", "at"), ("gp_checkpoint", "created_at")):
        rows(
            f"UPDATE {table} SET {column} = %s + ({column} - %s) * 4000 WHERE thread_id = %s",
            (begun[0][0], begun[0][0], thread),
        )
    rows("SET LOCAL session_replication_role = origin")


def test_the_page_shows_what_the_log_says(lived_here: tuple[Bench, UUID]) -> None:
    bench, thread = lived_here
    _stretch(thread)
    wanted: dict[str, dict[str, float]] = {}
    with_log = rows(BY_THE_LOG.replace("%(thread)s", f"'{thread}'"))
    for checkpoint, tone, seconds in with_log:
        wanted.setdefault(checkpoint, {})[tone] = seconds
    client = Client()
    client.force_login(get_user_model()._default_manager.get(username="carrier"))
    page = client.get(f"/threads/{thread}/").content.decode()
    shown = dict(
        re.findall(
            r'(?s)<li id="checkpoint-([0-9a-f-]+)".*?(?:<span data-times>(.*?)</span>|</li>)', page
        )
    )
    assert len(wanted) >= 5
    tones_seen = set()
    for checkpoint, tones in wanted.items():
        words = span(tones.get("working", 0.0))
        for tone in ("queued", "waiting"):
            if tones.get(tone, 0) >= 1:
                words += f" + {span(tones[tone])} {tone}"
                tones_seen.add(tone)
        assert escapes.unescape(shown[checkpoint]) == words, checkpoint
    assert tones_seen == {"queued", "waiting"}
    # A fork or a rollback shows no time of its own: what lies before it was other work.
    apart = rows(
        "SELECT id::text FROM gp_checkpoint WHERE thread_id = %s AND source = 'rollback'", (thread,)
    )
    assert apart
    assert all(shown[one] == "" for (one,) in apart)
    # The bar says the same of the way to the head.
    head = queries.thread(thread, workspace=bench.workspace).head
    titles = re.findall(r"<title>#\d+ [^<]*?(?:: ([^<]*))?</title>", page)
    assert any(escapes.unescape(title) == escapes.unescape(shown[str(head)]) for title in titles)
