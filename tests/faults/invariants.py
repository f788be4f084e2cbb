"""What holds for every thread after every hazard."""

from __future__ import annotations

from collections import Counter

from checkpoints.chain import verify_thread

from .bench import Case, ask

# Happens once per thing: (kind of event, what names the thing in it).
ONCE = {
    "checkpoint.committed": "checkpoint",
    "activity.finished": "activity",
    "model.answered": "activity",
    "effect.finished": "activity",
    "node.finished": "activity",
    "value.recorded": "activity",
    "compensation.finished": "activity",
    "approval.requested": "approval",
    "approval.decided": "approval",
}


def check(case: Case) -> None:
    """Fail with the first thing that does not hold, of the record or of what its calls left."""
    check_record(case)
    effects = case.effects()
    for effect in effects:
        # `name` is where the tools of own_agents leave their lines.
        keys = set(case.calls(effect.args["name"]))
        assert effect.idempotency_key in keys or effect.state == "started", effect
        undone = set(case.calls(f"undo-{effect.args['name']}"))
        assert undone <= {f"undo:{e.idempotency_key}" for e in effects}, undone
    named = Counter(e.args["name"] for e in effects)
    for name, places in named.items():
        # As many keys as places in the graph's course, whatever the number of calls.
        assert len(set(case.calls(name))) <= places, f"{name} was called with several keys"


def check_record(case: Case) -> None:
    """Fail with the first thing that does not hold of the thread's record."""
    # The row first: a node that was left behind may be fenced, and say so, while this reads.
    row = case.row()
    events = case.events()

    assert len(events) >= row.last_seq, "the end of the log is missing"
    assert [e.seq for e in events] == list(range(1, len(events) + 1)), "gaps in the log"
    report = verify_thread(case.id)
    assert report.intact, report.what

    seen = Counter((e.kind, e.data[ONCE[e.kind]]) for e in events if e.kind in ONCE)
    assert not [what for what, times in seen.items() if times > 1], "an event is doubled"
    thoughts = Counter(
        (e.data["branch"], e.data["step"], e.data["node"], e.data["ordinal"])
        for e in events
        if e.kind == "thought.recorded"
    )
    assert not [what for what, times in thoughts.items() if times > 1], "a thought is doubled"

    doubled = ask(
        "SELECT branch, step, count(*) FROM gp_checkpoint WHERE thread_id = %s "
        "AND source = 'step' GROUP BY 1, 2 HAVING count(*) > 1",
        case.id,
    )
    assert doubled == [], "a step has two checkpoints"

    effects = case.effects()
    assert len({e.idempotency_key for e in effects}) == len(effects), "two effects share a key"
    assert ask(
        "SELECT count(*) FROM gp_thread WHERE id = %s AND ((status = 'running' "
        "AND (lease_token IS NULL OR lease_until < clock_timestamp())) "
        "OR (status NOT IN ('running', 'rolling_back') AND lease_token IS NOT NULL))",
        case.id,
    ) == [(0,)], "running without a live lease, or leased without running"
