"""Agents that work elsewhere."""

from __future__ import annotations

from collections.abc import Callable

from tests.contract.example_calls import OPERATOR, Call, on_thread, reported
from tests.contract.world import World

EXAMPLES: dict[str, Callable[[World], Call]] = {
    "external_take": lambda w: on_thread(w.elsewhere, body={"name": "host-2"}, who=OPERATOR),
    "external_renew": lambda w: reported(w, body={"seconds": 30}),
    "external_release": lambda w: reported(
        w, w.settled, body={"as": "failed", "reason": "no money"}
    ),
    "external_next": lambda w: on_thread(w.reporting[0], query={"after": "1"}),
    "external_record_read": lambda w: on_thread(w.reporting[0], query={"start": "0", "limit": "5"}),
    "external_commit": lambda w: reported(
        w,
        w.settled,
        body={"step": 1, "nodes": ["work"], "next_nodes": ["work"], "delta": {"set": {"n": 2}}},
        status=201,
    ),
    "external_begin": lambda w: reported(
        w, body={"node": "work", "key": "mail#0", "kind": "effect", "tool": "mail", "args": {}}
    ),
    "external_check": lambda w: reported(
        w, body={"node": "work", "key": "mail#0", "kind": "effect", "tool": "mail", "args": {}}
    ),
    "external_settle": lambda w: reported(
        w,
        body={
            "node": "work",
            "key": "charge#0",
            "kind": "effect",
            "tool": "charge",
            "state": "done",
            "result": {"id": "ch_1"},
        },
    ),
    "external_record": lambda w: reported(
        w, body={"records": [{"node": "work", "key": "log#0", "result": [1]}]}
    ),
    "otlp_traces": lambda w: Call(
        body={
            "resourceSpans": [
                {
                    "scopeSpans": [
                        {
                            "spans": [
                                {
                                    "traceId": "5b8efff798038103d269b633813fc60c",
                                    "spanId": "eee19b7ec3c1b174",
                                    "name": "chat gpt-5",
                                    "attributes": [
                                        {
                                            "key": "gen_ai.operation.name",
                                            "value": {"stringValue": "chat"},
                                        }
                                    ],
                                }
                            ]
                        }
                    ]
                }
            ]
        },
        who=OPERATOR,
    ),
    "external_undo": lambda w: Call(
        {"thread_id": str(w.undoing[0]), "activity_id": str(w.undoing[2])},
        headers={"Gatepost-Lease": str(w.undoing[1])},
        body={"result": "refunded"},
        who=OPERATOR,
    ),
    "external_ask": lambda w: reported(
        w,
        body={
            "ask": [
                {"node": "work", "key": "q#0", "question": {"question": "How many?"}},
                {
                    "node": "work",
                    "key": "mail#1",
                    "effect": {"tool": "mail", "args": {}, "gate": {"title": "Mail it?"}},
                },
            ]
        },
    ),
    "external_note": lambda w: reported(
        w, body={"thoughts": [{"node": "work", "text": "The rain explains it."}]}
    ),
}
