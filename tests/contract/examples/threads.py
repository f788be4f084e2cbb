"""Threads, agents and saved states."""

from __future__ import annotations

from collections.abc import Callable

from tests.contract.example_calls import EITHER, OPERATOR, Call, next_node, on_thread, with_file
from tests.contract.world import World

EXAMPLES: dict[str, Callable[[World], Call]] = {
    "agents_list": lambda w: Call(),
    "agents_retrieve": lambda w: Call({"name": "research"}),
    "artifacts_upload": lambda w: Call(files={"file": ("a.csv", b"1,2")}, who=OPERATOR, status=201),
    "threads_list": lambda w: Call(query={"status": "queued,waiting", "limit": "2"}),
    "threads_start": lambda w: Call(
        body={"agent": "research", "input": {"goal": "delays"}, "labels": {"team": "ops"}},
        who=OPERATOR,
        status=201,
    ),
    "threads_counts_retrieve": lambda w: Call(),
    "threads_stuck": lambda w: Call(query={"agent": "research", "limit": "2"}),
    "threads_retrieve": lambda w: on_thread(w.gate.thread),
    "threads_state_retrieve": lambda w: on_thread(w.ended, query={"checkpoint": str(w.first)}),
    "threads_anatomy_retrieve": lambda w: on_thread(w.ended, query={"checkpoint": str(w.first)}),
    "threads_checkpoints_retrieve": lambda w: on_thread(w.ended, query={"limit": "2"}),
    "threads_events_retrieve": lambda w: on_thread(w.ended, query={"after": "1", "limit": "3"}),
    "threads_activities_retrieve": lambda w: on_thread(w.ended),
    "threads_files_list": lambda w: on_thread(w.ended, query={"limit": "2"}),
    "threads_files_retrieve": lambda w: Call(
        {"thread_id": str(w.ended), "sha256": with_file(w.ended)}, query={"length": "3"}
    ),
    "threads_add_file": lambda w: on_thread(
        w.ended,
        body={"name": "notes.txt", "text": "Ask the north first."},
        who=OPERATOR,
        status=201,
    ),
    "threads_diff_retrieve": lambda w: on_thread(w.ended, query={"from": str(w.first)}),
    "threads_rename": lambda w: on_thread(w.queued, body={"title": "October"}, who=OPERATOR),
    "threads_pause": lambda w: on_thread(
        w.queued, body={"before_node": "publish", "reason": "look first"}, who=OPERATOR
    ),
    "threads_resume": lambda w: on_thread(w.paused, body={}, who=OPERATOR),
    "threads_retry": lambda w: on_thread(w.failed, body={}, who=OPERATOR),
    "threads_skip": lambda w: on_thread(
        w.failed, body={"node": next_node(w.failed), "reason": "not needed"}, who=OPERATOR
    ),
    "threads_move_up": lambda w: on_thread(
        w.queued, body={"reason": "a customer waits"}, who=OPERATOR
    ),
    "threads_many": lambda w: Call(
        body={"action": "pause", "threads": [str(w.queued), str(w.failed)]}, who=OPERATOR
    ),
    "threads_settle": lambda w: on_thread(
        w.asking[0],
        body={
            "activity": str(w.asking[1]),
            "verdict": "happened",
            "result": {"path": "p"},
            "reason": "it is there",
        },
        who=OPERATOR,
    ),
    "threads_code": lambda w: on_thread(w.changed, body={"choice": "pin"}, who=OPERATOR),
    "threads_code_changes": lambda w: on_thread(w.changed, who=OPERATOR),
    "threads_code_many": lambda w: Call(
        body={"choice": "pin", "threads": [str(w.changed)]}, who=OPERATOR
    ),
    "threads_cancel": lambda w: on_thread(w.queued, body={"reason": "no need"}, who=OPERATOR),
    "threads_input": lambda w: on_thread(w.inbox, body={"message": "and the rain"}, who=OPERATOR),
    "threads_signal": lambda w: on_thread(
        w.inbox, body={"name": "payment.settled", "value": 950}, who=OPERATOR
    ),
    "signals_send": lambda w: Call(
        body={"agent": "reader", "thread": "mail", "name": "payment.settled", "value": 1},
        who=OPERATOR,
    ),
    "threads_edit": lambda w: on_thread(
        w.gate.thread, body={"changes": {"goal": "weather"}, "reason": "typo"}, who=OPERATOR
    ),
    "threads_fork": lambda w: on_thread(
        w.ended,
        body={"checkpoint": str(w.first), "changes": {"goal": "weather"}, "title": "What if"},
        who=EITHER,
        status=201,
    ),
    "threads_capsule": lambda w: on_thread(w.ended, who=("operator", "auditor")),
    "states_load": lambda w: Call(query={"name": w.saved, "number": "1"}),
    "states_save": lambda w: Call(
        body={"name": w.saved, "state": {"turn": 2}, "after": 1}, who=OPERATOR, status=201
    ),
    "threads_reveal": lambda w: on_thread(w.encrypted, body={"channel": "note"}),
    "threads_verify": lambda w: on_thread(w.ended, body={}),
    "threads_roll_back": lambda w: on_thread(
        w.ended, body={"checkpoint": str(w.first), "reason": "wrong data"}, who=EITHER, status=202
    ),
}
