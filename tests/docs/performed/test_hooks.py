"""docs/howto/hooks.md: a hook is made, mapped, rotated and kept out by command, records and API."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from django.test import Client

from checkpoints import queries
from tests.docs.performing import Performance
from tests.support.cast import Cast
from tests.unit.dashboard import hooking, scene
from tests.unit.dashboard.access import confirm_waiting

pytestmark = pytest.mark.django_db


def body_of(howto: Performance, call: str) -> Any:
    """The body that the page's table shows for a call."""
    row = next(line for line in howto.text.splitlines() if line.startswith(f"| `{call}` |"))
    return json.loads(re.search(r"`(\{.*\})`", row)[1])  # type: ignore[index]


def kinds(cast: Cast) -> list[str]:
    return [str(e.kind) for e in queries.workspace_events(cast.workspace, limit=30).rows]


@pytest.mark.slow
def test_hooks_are_made_and_kept_as_the_page_says(cast: Cast) -> None:
    howto = Performance("hooks", cast)
    home = howto.page("/admin/", "admin")
    for name in ("Hooks", "Outside identities", "Hook deliveries"):
        assert name in home, name
    secret = howto.run("./manage.py hook create slack", "admin")["secret"]
    assert secret.startswith("whsec_")
    howto.run("./manage.py hook map slack U024BE7LH manager", "admin")
    howto.run("./manage.py hook confirm slack U024BE7LH --as manager", "")

    scope: dict[str, Any] = {"scopes": ("read", "administer")}
    pager = body_of(howto, "POST /api/v1/hooks/") | {"name": "pager"}
    made = howto.call("POST /api/v1/hooks/", "admin", pager, 201, **scope)
    listed = howto.call("GET /api/v1/hooks/", "auditor")["results"]
    assert [one["name"] for one in listed] == ["pager", "slack"]
    assert "whsec_" not in str(listed), "no list shows a secret"
    start, names = "POST /api/v1/hooks/{id}/identities/", {"ID": made["id"]} | scope
    howto.call(start, "admin", body_of(howto, start), 202, **names)
    assert confirm_waiting(cast) == 1
    one = howto.call("GET /api/v1/hooks/{id}/", "auditor", ID=made["id"])
    [own] = [
        one
        for one in howto.call("GET /api/v1/identities/", "manager")["results"]
        if one["hook_name"] == "pager"
    ]
    assert "This is me" in howto.page("/access/", "manager")
    path = howto.unit("POST /api/v1/identities/{id}/confirm/").partition(" ")[2]
    manager = cast.client("manager")
    answer = manager.post(path.replace("{id}", own["id"]), {}, content_type="application/json")
    assert answer.json()["confirmed_by"] == f"user:{cast.users['manager'].pk}"
    assert [who["identity"] for who in one["identities"]] == ["U024BE7LH"]
    start = "POST /api/v1/hooks/{id}/identities/remove/"
    howto.call(start, "admin", body_of(howto, start), **names)
    one = howto.call("GET /api/v1/hooks/{id}/", "auditor", ID=made["id"])
    assert one["identities"] == []

    # A decision by the service, at the address that the page names; what it needs is in the list.
    row = scene.waiting(cast.workspace, scene.make_agent())
    waiting = howto.call("GET /api/v1/approvals/", "manager")["results"]
    assert row.proposal_hash in {one["proposal_hash"] for one in waiting}
    slack = next(one for one in listed if one["name"] == "slack")
    assert howto.unit("/api/v1/hooks/decide/?hook=") == f"{hooking.PATH}?hook="
    decision = {
        "approval": str(row.id),
        "verdict": "approve",
        "proposal_hash": row.proposal_hash,
        "by": "U024BE7LH",
    }
    former = secret
    rotated = howto.run("./manage.py hook rotate slack --keep 24h", "admin")["secret"]
    assert rotated != former
    # The former secret holds another day.
    answer = hooking.send(Client(), slack["id"], decision, secret=former)
    assert answer.status_code == 200, answer.content
    assert answer.json()["decided_by"] == f"user:{cast.users['manager'].pk}/hook:slack"
    howto.run("hook disable slack", "admin")
    assert hooking.send(Client(), slack["id"], decision, secret=rotated).status_code == 404, (
        "it is kept out"
    )

    start = "POST /api/v1/hooks/{id}/rotate/"
    assert howto.call(start, "admin", body_of(howto, start), **names)["secret"]
    start = "POST /api/v1/hooks/{id}/switch/"
    assert howto.call(start, "admin", body_of(howto, start), **names)["active"] is False
    changes = [kind for kind in kinds(cast) if kind.startswith("hook.")]
    assert len(changes) >= 8, "each change is an entry in the workspace's log"
    assert "swagger" in howto.page("/api/docs/", "viewer")
    assert "hooks_decide" in cast.client("viewer").get("/api/schema/").content.decode()
    sender = "tests/unit/dashboard/administration/hooks/test_howto.py runs it against a web process"
    howto.complete({"import base64": sender, "status, answer = send_decision(": sender})
