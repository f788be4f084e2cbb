"""Every number on a thread's page is known, and equals one computed another way by plain SQL."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any
from uuid import UUID

import pytest

from dashboard.wording import text
from tests.support.cast import Cast
from tests.unit.checkpoints.builders import one, rows
from tests.unit.dashboard.html.test_step_times import BY_THE_LOG
from tests.unit.dashboard.page_numbers import Rule, problem, quoted

pytestmark = pytest.mark.nightly


def _sql(sql: str, form: Callable[[Any], str] = str) -> Callable[..., str]:
    """A rule's text: what a statement about the thread (and what the place names) gives."""
    return lambda cast, thread, *names: form(one(sql, (thread, *names)))


HEAD = "(SELECT head FROM gp_thread WHERE id = %s)"
# Names, and the fence of a lease, which no log counts.
NAMES = ("Agent", "Started", "Worker", "Lease")


def _head(thread: str) -> str:
    return str(one("SELECT head FROM gp_thread WHERE id = %s", (thread,)))


def _stored(cast: Cast, thread: str) -> str:
    events = one("SELECT count(*) FROM gp_event WHERE thread_id = %s", (thread,))
    checkpoints = one("SELECT count(*) FROM gp_checkpoint WHERE thread_id = %s", (thread,))
    return ", ".join(
        f"{n} {noun}{'' if n == 1 else 's'}"
        for n, noun in ((events, "event"), (checkpoints, "checkpoint"))
    )


def _size(cast: Cast, thread: str) -> str:
    return text.size(_state_bytes(_head(thread)))


FACTS = {
    "Checkpoint": _sql(f"SELECT '#' || number FROM gp_checkpoint WHERE id = {HEAD}"),
    "Step": _sql(
        "SELECT step || CASE branch WHEN 0 THEN '' ELSE ' branch ' || branch END "
        f"FROM gp_checkpoint WHERE id = {HEAD}"
    ),
    "Tokens": _sql(
        "SELECT to_char(sum((usage ->> 'tokens')::bigint), 'FM999,999') "
        "FROM gp_activity WHERE thread_id = %s"
    ),
    "Cost": _sql(
        "SELECT '$' || trim_scale(sum((usage ->> 'cost')::numeric)) "
        "FROM gp_activity WHERE thread_id = %s"
    ),
    "Stored": _stored,
    "State": _size,
    "Version": _sql("SELECT version FROM gp_thread WHERE id = %s"),
}


def _state(checkpoint: str) -> dict[str, Any]:
    """The state at a checkpoint: the deltas of its way, folded here and nowhere else."""
    lineage = rows(
        "WITH RECURSIVE way AS (SELECT id, parent, delta, 0 AS depth FROM gp_checkpoint "
        "WHERE id = %s UNION ALL SELECT c.id, c.parent, c.delta, way.depth + 1 "
        "FROM gp_checkpoint c JOIN way ON c.id = way.parent) "
        "SELECT delta FROM way ORDER BY depth DESC",
        (checkpoint,),
    )
    state: dict[str, Any] = {}
    for (delta,) in lineage:
        made = json.loads(delta) if isinstance(delta, str) else delta
        state |= made.get("set", {})
        for channel, items in made.get("append", {}).items():
            state[channel] = state.get(channel, []) + items
    return state


def _state_bytes(checkpoint: str) -> int:
    whole = json.dumps(_state(checkpoint), separators=(",", ":"), ensure_ascii=False)
    return len(whole.encode())


LINEAGE = (
    "WITH RECURSIVE own AS (SELECT id, parent FROM gp_checkpoint WHERE thread_id = %(t)s), way AS ("
    f"SELECT id, parent FROM gp_checkpoint WHERE id = {HEAD.replace('%s', '%(t)s')} UNION ALL "
    "SELECT c.id, c.parent FROM gp_checkpoint c JOIN way ON c.id = way.parent) "
)


def _lineage(cast: Cast, thread: str) -> str:
    both = LINEAGE + "SELECT count(*) FROM (SELECT id FROM own UNION SELECT id FROM way) x"
    gone = LINEAGE + "SELECT count(*) FROM own WHERE id NOT IN (SELECT id FROM way)"
    n, left = (rows(sql, {"t": thread})[0][0] for sql in (both, gone))
    return f"{n} checkpoint{'' if n == 1 else 's'}" + (f", {left} left behind" if left else "")


def _counted(cast: Cast, thread: str, mark: str) -> str:
    """How many channels the head added, changed or removed against its parent."""
    head, parent = rows(
        f"SELECT id::text, parent::text FROM gp_checkpoint WHERE id = {HEAD}", (thread,)
    )[0]
    new, old = _state(head), _state(parent) if parent else {}
    now, was = ({k: json.dumps(v) for k, v in state.items()} for state in (new, old))
    return mark.format(
        sum(k not in was for k in now) + _items(new, old),
        sum(k in was and was[k] != now[k] and not isinstance(new[k], list) for k in now),
        sum(k not in now for k in was),
    )


def _alike(cast: Cast, thread: str) -> str:
    """The channels that the head left as its parent has them."""
    head, parent = rows(
        f"SELECT id::text, parent::text FROM gp_checkpoint WHERE id = {HEAD}", (thread,)
    )[0]
    new, old = _state(head), _state(parent) if parent else {}
    names = [k for k, v in new.items() if k in old and json.dumps(v) == json.dumps(old[k])]
    return f"{len(names)} unchanged: {', '.join(names)}"


def _items(new: dict[str, Any], old: dict[str, Any]) -> int:
    """How many items the lists that were there already grew by."""
    return sum(len(v) - len(old[k]) for k, v in new.items() if isinstance(v, list) and k in old)


def _times(cast: Cast, thread: str, checkpoint: str) -> str:
    """How long a checkpoint's step worked, was queued and waited, by the log of its thread."""
    owner = one("SELECT thread_id::text FROM gp_checkpoint WHERE id = %s", (checkpoint,))
    tones = {
        tone: seconds
        for made, tone, seconds in rows(BY_THE_LOG.replace("%(thread)s", f"'{owner}'"))
        if made == checkpoint
    }
    words = [text.span(tones.get("working", 0.0))]
    words += [f"{text.span(tones[t])} {t}" for t in ("queued", "waiting") if tones.get(t, 0) >= 1]
    return " + ".join(words)


def _row_bytes(cast: Cast, thread: str, checkpoint: str) -> str:
    shown = text.size(_state_bytes(checkpoint))
    apart = one(
        "SELECT parent IS NULL OR source IN ('fork', 'rollback') FROM gp_checkpoint WHERE id = %s",
        (checkpoint,),
    )
    return shown if apart else f"· {shown}"


def _visits(cast: Cast, thread: str, node: str) -> str:
    """How often a node stands on the way to the head."""
    n = rows(
        LINEAGE + "SELECT count(*) FROM way JOIN gp_checkpoint c USING (id) WHERE c.nodes ? %(n)s",
        {"t": thread, "n": node},
    )
    return f"{n[0][0]}×"


def _chip(cast: Cast, thread: str, noun: str) -> str:
    """How many events a chip says there are; the first is for all."""
    if noun == "errors":
        wrong = "(failed|rejected|fenced|refused|damaged|thread.parked)$"
        return str(
            one("SELECT count(*) FROM gp_event WHERE thread_id = %s AND kind ~ %s", (thread, wrong))
        )
    mine = "" if noun == "All" else noun
    kind = "AND (%s = '' OR split_part(kind, '.', 1) = %s)"
    count = "SELECT count(*) FROM gp_event WHERE thread_id = %s "
    return str(one(count + kind, (thread, mine, mine)))


def _took(cast: Cast, thread: str, activity: str) -> str:
    """From start to end of an activity, as its row says."""
    seconds = "SELECT extract(epoch FROM finished_at - started_at)::float FROM gp_activity"
    return text.span(one(f"{seconds} WHERE id = %s", (activity,)))


def _used(cast: Cast, thread: str, checkpoint: str) -> str:
    """Tokens and cost of the calls that were recorded in the step of a checkpoint."""
    tokens, cost = rows(
        "SELECT sum((a.usage ->> 'tokens')::integer), sum((a.usage ->> 'cost')::numeric) "
        "FROM gp_activity a JOIN gp_checkpoint c ON c.thread_id = a.thread_id "
        "AND c.branch = a.branch AND c.step = a.step AND a.kind <> 'effect' WHERE c.id = %s",
        (checkpoint,),
    )[0]
    return f"· {tokens} tokens, ${cost.normalize():f}"


def _number(cast: Cast, thread: str, checkpoint: str) -> str:
    return str(one("SELECT number FROM gp_checkpoint WHERE id = %s", (checkpoint,)))


def _changes(mark: str) -> Callable[..., str]:
    return lambda cast, thread: _counted(cast, thread, mark)


def _keys(cast: Cast, thread: str) -> str:
    return f"{_size(cast, thread)}, {len(_state(_head(thread)))} keys, schema 1"


def _outside(cast: Cast, thread: str) -> str:
    """How many nodes called something outside."""
    called = (
        "SELECT count(DISTINCT node) FROM gp_activity WHERE thread_id = %s "
        "AND kind NOT IN ('node', 'value')"
    )
    n = one(called, (thread,))
    return f"{n} node{'' if n == 1 else 's'}"


def _steps_done(cast: Cast, thread: str) -> str:
    """How many steps lie behind the head, where none of the plan's nodes is listed."""
    n = one(f"SELECT step FROM gp_checkpoint WHERE id = {HEAD}", (thread,))
    return f"{n} step{'' if n == 1 else 's'} done."


def _planned(cast: Cast, thread: str) -> str:
    """How many of the two nodes stand on the way to the head, or how often where more than once.

    Those that come next are not done; if they stand there they come again.
    """
    nodes = (
        "FROM way JOIN gp_checkpoint c USING (id), jsonb_array_elements_text(c.nodes) n "
        "WHERE n IN ('analyse', 'publish')"
    )
    current = "ARRAY(SELECT jsonb_array_elements_text(next_nodes) FROM gp_thread WHERE id = %(t)s)"
    visits, done = rows(
        f"{LINEAGE} SELECT count(*), count(DISTINCT n) FILTER (WHERE n <> ALL({current})) {nodes}",
        {"t": thread},
    )[0]
    return f"{done} of 2" if visits == done else f"{visits} step{'' if visits == 1 else 's'} done"


THREAD = [
    Rule(r"tr#activity-([0-9a-f-]{36}) td\.r", _took),
    Rule(
        r"tr#activity-([0-9a-f-]{36}) td\S* span\.muted\.xs\.num",
        _sql("SELECT 'step ' || step FROM gp_activity WHERE thread_id = %s AND id = %s"),
    ),
    Rule(r"#thread-lineage\S* header span\.muted", _lineage),
    Rule(r"li#checkpoint-([0-9a-f-]{36}).* span\.q", _number),
    Rule(r"li#checkpoint-([0-9a-f-]{36}).* span\.m\.l span$", _times),
    Rule(r"li#checkpoint-([0-9a-f-]{36}).* span\.m\.l$", _row_bytes),
    Rule(r"li#checkpoint-([0-9a-f-]{36}).* span\.u$", _used),
    Rule(
        r"#thread-forks\S* header span",
        _sql(
            "SELECT count(*) FROM gp_thread WHERE forked_from IN "
            "(SELECT id FROM gp_checkpoint WHERE thread_id = %s)"
        ),
    ),
    Rule(
        r"#thread-state\S* header span\.muted",
        _sql(
            "SELECT '#' || number || CASE WHEN parent IS NULL THEN '' "
            f"ELSE ' against its parent' END FROM gp_checkpoint WHERE id = {HEAD}"
        ),
    ),
    Rule(r"#thread-state\S* p\.row\.xs\S* span\.st\.t-done", _changes("+ {0} added")),
    Rule(r"#thread-state\S* p\.row\.xs\S* span\.st\.t-wait", _changes("~ {1} changed")),
    Rule(r"#thread-state\S* p\.row\.xs\S* span\.st\.t-fail", _changes("− {2} removed")),
    Rule(r"#thread-state\S* p\.row\S* span\.hide-m", _keys),
    Rule(r"#thread-state\S* p#state-alike\S*", _alike),
    Rule(r"#thread-events.*a\.chip\S*<(\w+)> b$", _chip),
    Rule(
        r"tr#event-(\d+) td\.mono\.num",
        _sql("SELECT seq FROM gp_event WHERE thread_id = %s AND seq = %s"),
    ),
    Rule(r"li#plan-(\w+)\S* .*span\.muted\.num", _visits),
    Rule(
        r"#thread-graph\S* header",
        _sql("SELECT agent || ' v' || 1 FROM gp_thread WHERE id = %s"),
    ),
    Rule(r"#thread-graph\S* .*#outside-calls\S* summary span", _outside),
    Rule(r"#thread-plan\S* header span", _planned),
    Rule(
        r"#thread-summary\S* b#summary-(\w+)",
        lambda cast, thread, node: {"analyse": "1 Analyse", "publish": "2 Publish"}[node],
    ),
    Rule(r"#thread-summary\S* span\.muted", _steps_done),
    Rule(r"#thread-artifacts\S* header span", lambda cast, thread: "0"),
]


def _facts(html: str) -> Iterator[tuple[str, str]]:
    """(label, text without times) of the facts under a thread's head that hold a digit."""
    listed = html.partition('<dl id="thread-facts"')[2].partition("</dl>")[0]
    for label, body in re.findall(
        r"<div>\s*<dt>(.*?)</dt>\s*<dd.*?>(.*?)</dd>\s*</div>", listed, re.S
    ):
        plain = re.sub(r"<time.*?</time>|<button.*?</button>|<[^>]+>", " ", body)
        if re.search(r"\d", plain):
            yield label, " ".join(plain.split())


def test_every_number_of_a_thread(cast: Cast, population: list[UUID]) -> None:
    client = cast.client("auditor")
    forks = rows("SELECT id FROM gp_thread WHERE forked_from IS NOT NULL")
    labels: set[str] = set()
    wrong: set[str] = set()
    for thread in [*population, *(fork for (fork,) in forks)]:
        html = client.get(f"/threads/{thread}/").content.decode()
        for label, words in _facts(html):
            labels.add(label)
            if label in NAMES:
                continue
            wanted = FACTS[label](cast, str(thread))
            # How many bytes rows take is an estimate of its own; see test_storage.
            if not (words.endswith(wanted) if label == "Stored" else words == wanted):
                wrong.add(f"{label}: {words!r}, by SQL {wanted!r}")
        for position, words in quoted(html, cast):
            if "dl#thread-facts" not in position:
                wrong.add(problem(position, words, THREAD, cast, str(thread)))
    assert {"Checkpoint", "Step", "State", "Stored", "Version"} <= labels
    assert wrong == {""}
