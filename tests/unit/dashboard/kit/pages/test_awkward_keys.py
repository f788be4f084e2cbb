"""Keys that agents and people choose, which a template or query could take for something else.

Every page and read of a thread is opened with them as channels, arguments, labels and settings.
"""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest
from django.utils.html import escape

from approvals.queries import ApprovalRow
from checkpoints import queries, store
from tests.support.cast import Cast
from tests.unit.dashboard import scene

METHODS = ("items", "keys", "values", "get", "pop", "count", "index")
WORDS = (
    "id",
    "title",
    "error",
    "status",
    "state",
    "past",
    "csrfmiddlewaretoken",
    "comment",
    "reason",
)
PYTHON = ("__class__", "_private", "self", "None", "0", "1e3", "a.b", "a__b", "a:b", "$ref", "#")
FORMS = ("TOTAL_FORMS", "submit", "action", "method", "length", "constructor", "toString", "hash")
TEXTS = ("ünï", "漢字", "two words", "<b>", "a'b\"", "%s", "{x}", "{{x}}", "&amp;", "a/b", "\\")
KEYS = (*METHODS, *WORDS, *PYTHON, *FORMS, *TEXTS, "k" * 200)
ROW: dict[str, Any] = {key: n for n, key in enumerate(KEYS)}
VALUES: dict[str, Any] = {
    "rows": [ROW, {**ROW, "count": 2}],
    "nested": {key: [ROW] for key in KEYS[:3]},
}


def make_agent(agent: str = "awkward") -> UUID:
    channels = {key: {"reducer": "last_value", "default": None} for key in KEYS}
    return store.announce_version(
        agent=agent,
        version=1,
        fingerprint="1" * 64,
        label="Awkward",
        description="Has awkward keys",
        schema_version=1,
        schema={
            "title": "Awkward",
            "type": "object",
            "properties": {key: {} for key in KEYS},
            "additionalProperties": False,
        },
        channels=channels,
        graph=scene.GRAPH,
        tools=scene.TOOLS,
        queue="gatepost",
    )


def waiting(cast: Cast, shape: Any) -> ApprovalRow:
    """A thread at a gate, with this value under every key."""
    thread = store.start(
        make_agent(),
        input=dict.fromkeys(KEYS, shape),
        workspace=cast.workspace,
        actor="user:1",
        title="Awkward",
        labels={key[:60]: "label" for key in KEYS},
        config=dict.fromkeys(KEYS, shape),
    )
    work = scene.lease(thread)
    scene.step(work, **{key: [shape, shape] for key in KEYS})
    scene.effect(work, result=dict.fromkeys(KEYS, shape))
    return scene.gate(work, args=dict.fromkeys(KEYS, shape))


@pytest.mark.slow
@pytest.mark.django_db
@pytest.mark.parametrize("shape", VALUES.values(), ids=VALUES)
def test_every_page_of_a_thread_shows_awkward_keys(cast: Cast, shape: Any) -> None:
    row = waiting(cast, shape)
    thread, first = row.thread, queries.checkpoint_by_number(row.thread, 0)
    second = queries.checkpoint_by_number(thread, 1)
    page, request, call = (
        f"/threads/{thread}/",
        f"/approvals/{row.id}/",
        f"/api/v1/threads/{thread}/",
    )
    addresses = [
        page,
        *(
            f"{page}?tab={tab}{cp}"
            for tab in ("state", "anatomy", "changes")
            for cp in ("", "&cp=0")
        ),
        *(f"{page}{form}/?checkpoint={second.id}" for form in ("fork", "edit")),
        f"{page}rollback/?checkpoint={first.id}",
        f"/threads/compare/?left={thread}:0&right={thread}",
        *(f"{page}{form}/" for form in ("cancel", "erase")),
        request,
        *(f"{request}{form}/" for form in ("edit", "report", "hand-over")),
        "/",
        "/?q=Awkward&columns=agent,cost,idle",
        "/approvals/",
        f"/admin/checkpoints/thread/{thread}/change/",
        f"/admin/approvals/approval/{row.id}/change/",
        call,
        *(f"{call}{read}/" for read in ("state", "anatomy", "checkpoints", "events", "activities")),
        f"/api/v1/approvals/{row.id}/",
        f"/api/v1/approvals/{row.id}/report/",
    ]
    clients = {who: cast.client(who) for who in ("operator", "manager", "auditor", "admin")}
    wrong = {}
    for address in addresses:
        answers = {who: client.get(address).status_code for who, client in clients.items()}
        if not set(answers.values()) <= {200, 302, 403} or 200 not in answers.values():
            wrong[address] = answers
    assert not wrong
    state = clients["operator"].get(f"{page}?tab=state").content.decode()
    assert [key for key in KEYS[:-1] if escape(key) not in state] == []
