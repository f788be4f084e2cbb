"""Each filter of requests lists the same in the inbox, in the call and by the command."""

from __future__ import annotations

import io
import json
import re
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from checkpoints import store
from dashboard.approvals.filters import REQUESTS
from dashboard.fields.filters import CALL, COMMAND, PAGE
from tests.support.cast import Cast
from tests.unit.dashboard import scene

pytestmark = [pytest.mark.django_db, pytest.mark.requirement("E12")]
# Of three requests that wait and a decided one: (value, those listed).
EXAMPLES: dict[str, tuple[str, set[str]]] = {
    "status": ("decided", {"decided"}),
    "box": ("high", {"risky"}),
    "mine": ("1", {"plain", "risky", "crew"}),
    "thread": ("plain", {"plain"}),
    "agent": ("paying", {"risky"}),
    "framework": ("crewai", {"crew"}),
    "q": ("risky", {"risky"}),
    "alike": ("plain", {"plain"}),
}


@pytest.fixture
def requests(cast: Cast) -> dict[str, Any]:
    """{name: a request}; the name stands in its title."""
    counting, paying = scene.make_agent("counting"), scene.make_agent("paying")
    elsewhere = store.announce_version(
        agent="elsewhere",
        version=1,
        fingerprint="f",
        label="Elsewhere",
        description="",
        schema_version=1,
        schema=scene.SCHEMA,
        channels=scene.CHANNELS,
        graph=scene.GRAPH | {"external": {"framework": "crewai", "can": [], "open": False}},
        tools=scene.TOOLS,
        queue="gatepost",
    )
    made = {
        "plain": scene.waiting(cast.workspace, counting, title="Send plain?"),
        "risky": scene.waiting(cast.workspace, paying, title="Pay risky?", risk="high"),
        "crew": scene.waiting(cast.workspace, elsewhere, title="Ask crew?"),
        "decided": scene.waiting(cast.workspace, counting, title="Send decided?"),
    }
    answer = cast.client("manager").post(
        f"/api/v1/approvals/{made['decided'].id}/decide/",
        {"verdict": "approve", "proposal_hash": made["decided"].proposal_hash},
        content_type="application/json",
    )
    assert answer.status_code == 200, answer.content
    return made


def of_page(cast: Cast, **texts: str) -> set[str]:
    answer = cast.client("manager").get("/approvals/", texts)
    assert answer.status_code == 200
    return set(re.findall(r'id="approval-([0-9a-f-]{36})"', answer.content.decode()))


def of_call(cast: Cast, **texts: str) -> set[str]:
    answer = cast.client("manager").get("/api/v1/approvals/", texts)
    assert answer.status_code == 200, answer.content
    return {row["id"] for row in answer.json()["results"]}


def of_command(**texts: str) -> set[str]:
    out = io.StringIO()
    options = [f"--{name}={value}" for name, value in texts.items()]
    call_command("approve", *options, "--as", "manager", "--json", stdout=out)
    return {row["id"] for row in json.loads(out.getvalue())["results"]}


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_filter_lists_the_same_everywhere(
    cast: Cast, requests: dict[str, Any], name: str
) -> None:
    (one,) = (one for one in REQUESTS if one.name == name)
    value, expected = EXAMPLES[name]
    if name == "alike":
        value = str(requests[value].id)
    elif name == "thread":
        value = str(requests[value].thread)
    shown: dict[str, set[str]] = {}
    if PAGE in one.endpoints:
        shown[PAGE] = of_page(cast, **{name: value})
    if CALL in one.endpoints:
        shown[CALL] = of_call(cast, **{name: value})
    if COMMAND in one.endpoints:
        shown[COMMAND] = of_command(**{name: value})
    names = {str(row.id): name for name, row in requests.items()}
    listed = {where: {names[ident] for ident in ids} for where, ids in shown.items()}
    assert listed == dict.fromkeys(shown, expected)


def test_each_filter_has_an_example() -> None:
    assert EXAMPLES.keys() == {one.name for one in REQUESTS}


def test_the_inbox_says_what_narrows_an_empty_box(cast: Cast, requests: dict[str, Any]) -> None:
    texts = {"agent": "paying", "framework": "crewai", "q": "tea"}
    html = cast.client("manager").get("/approvals/", texts).content.decode()
    words = " ".join(re.sub(r"<[^>]*>", " ", html).split())
    assert (
        "No request here comes from agent paying and comes from an agent in crewai and "
        "has “tea” in its title, thread or tool." in words
    )
    assert '<option value="crewai" selected>' in html


def test_an_id_and_a_filter_do_not_go_together(cast: Cast, requests: dict[str, Any]) -> None:
    with pytest.raises((SystemExit, CommandError)) as caught:
        call_command("approve", str(requests["plain"].id), "--agent", "paying", "--as", "manager")
    assert getattr(caught.value, "returncode", 2) == 2
