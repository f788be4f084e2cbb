"""Each filter of incidents lists the same on the page, in the call and by the command."""

from __future__ import annotations

import io
import json
import re

import pytest
from django.core.management import CommandError, call_command

from approvals.incidents.sweep import sweep_incidents
from approvals.notify.texts.incident_kinds import ATTENTION, FAILED
from dashboard.board.filters.incidents import INCIDENTS
from dashboard.fields.filters import CALL, COMMAND, PAGE, given_at
from tests.support.cast import Cast
from tests.unit.approvals.incidents.scenes import fails, incidents

pytestmark = [pytest.mark.django_db, pytest.mark.requirement("E01")]
# Of two open incidents, one of them taken, and a closed one.
EXPECTED = {
    ("state", "open"): {"failed", "asking"},
    ("state", "taken"): {"asking"},
    ("state", "snoozed"): set(),
    ("state", "closed"): {"closed"},
    ("state", "all"): {"failed", "asking", "closed"},
    ("kind", ATTENTION): {"asking"},
    ("agent", "research"): {"failed"},
}


@pytest.fixture
def three(cast: Cast) -> dict[str, str]:
    """{id: name} of three incidents."""
    for agent, kind in (("research", FAILED), ("payments", ATTENTION), ("weather", FAILED)):
        fails(cast, f"{agent} stopped", kind, agent=agent)
    sweep_incidents()
    by_agent = {row.agent: str(row.id) for row in incidents(cast)}
    operator = cast.client("operator")
    for agent, path, body in (
        ("payments", "take", {}),
        ("weather", "close", {"reason": "known"}),
    ):
        at = f"/api/v1/incidents/{by_agent[agent]}/{path}/"
        answer = operator.post(at, body, content_type="application/json")
        assert answer.status_code == 200, answer.content
    names = {"research": "failed", "payments": "asking", "weather": "closed"}
    return {ident: names[agent] for agent, ident in by_agent.items()}


def of_page(cast: Cast, **texts: str) -> set[str]:
    html = cast.client("viewer").get("/incidents/", texts).content.decode()
    return set(re.findall(r'id="incident-([0-9a-f-]{36})"', html))


def of_call(cast: Cast, **texts: str) -> set[str]:
    answer = cast.client("viewer").get("/api/v1/incidents/", texts)
    assert answer.status_code == 200, answer.content
    return {row["id"] for row in answer.json()["results"]}


def of_command(**texts: str) -> set[str]:
    out = io.StringIO()
    options = [f"--{name}={value}" for name, value in texts.items()]
    call_command("incident", "list", *options, "--as", "viewer", "--json", stdout=out)
    return {row["id"] for row in json.loads(out.getvalue())["results"]}


@pytest.mark.parametrize(("name", "value"), EXPECTED)
def test_a_filter_lists_the_same_everywhere(
    cast: Cast, three: dict[str, str], name: str, value: str
) -> None:
    (one,) = (one for one in INCIDENTS if one.name == name)
    everything = {} if name == "state" else {"state": "all"}
    texts = everything | {name: value}
    shown: dict[str, set[str]] = {}
    if PAGE in one.endpoints:
        shown[PAGE] = of_page(cast, **texts)
    if CALL in one.endpoints:
        shown[CALL] = of_call(cast, **texts)
    if COMMAND in one.endpoints:
        shown[COMMAND] = of_command(**texts)
    named = {where: {three[ident] for ident in ids} for where, ids in shown.items()}
    assert named == dict.fromkeys(shown, EXPECTED[name, value])
    assert len(shown) == 3


def test_each_filter_has_an_example() -> None:
    assert {name for name, _ in EXPECTED} == {one.name for one in INCIDENTS}


def test_the_page_and_the_command_list_open_ones_unless_asked(
    cast: Cast, three: dict[str, str]
) -> None:
    assert of_page(cast) == of_command() == of_call(cast, state="open")
    assert of_call(cast) == of_call(cast, state="all") == {*three}


def test_the_form_has_an_input_for_each_labelled_filter(cast: Cast) -> None:
    labels = {one.name: one.label for one in given_at(INCIDENTS, PAGE) if one.label}
    texts = {name: value for name, value in EXPECTED if name in labels}
    html = cast.client("viewer").get("/incidents/", texts).content.decode()
    for name, label in labels.items():
        assert f'<label class="f" for="{name}">{label}</label>' in html
        assert f'value="{texts[name]}"' in html
    gone = cast.client("viewer").get("/incidents/?agent=gone").content.decode()
    assert '<option value="gone" selected>' in gone


@pytest.mark.parametrize(
    ("name", "value"), [("state", "opened"), ("kind", "failed"), ("agnet", "research")]
)
def test_a_wrong_word_is_refused_everywhere(cast: Cast, name: str, value: str) -> None:
    client = cast.client("viewer")
    answer = client.get("/api/v1/incidents/", {name: value})
    assert (answer.status_code, answer.json()["errors"][0]["path"]) == (422, name)
    assert client.get("/incidents/", {name: value}).status_code == 422
    with pytest.raises((SystemExit, CommandError)):
        call_command("incident", "list", f"--{name}={value}", "--as", "viewer")
