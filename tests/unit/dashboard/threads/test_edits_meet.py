"""Two people edit one state at once: what the second sends never undoes what the first wrote."""

from __future__ import annotations

import html as escapes
import json
import re
from itertools import product
from typing import Any
from uuid import UUID

import pytest
from django.contrib.auth import get_user_model
from django.test import Client

from approvals import queries as requests
from approvals.queries import ApprovalRow
from approvals.rules.terms import Seat, Terms
from checkpoints import queries, store
from dashboard.fields import form as fields
from dashboard.kit.pages import forms
from dashboard.threads.edit import edit
from tests.support import decisions
from tests.support.cast import Cast
from tests.unit.dashboard import scene

MINE = {"goal": "my goal", "limit": "7", "findings": "mine"}
THEIRS: dict[str, Any] = {"goal": "their goal", "limit": 9, "findings": ["theirs"]}
MINE_READ: dict[str, Any] = {"goal": "my goal", "limit": 7, "findings": ["mine"]}
NAMES = tuple(MINE)
SUBSETS = [
    tuple(name for name, there in zip(NAMES, bits, strict=True) if there)
    for bits in product((False, True), repeat=len(NAMES))
]


def _inputs(page: str) -> dict[str, str]:
    """Everything that a browser would send of the form as it stands."""
    form = re.split(r'<form class="form-card" id="edit(?:-first)?"', page)[1].partition("</form>")[
        0
    ]
    form = re.sub(r'<input [^>]*type="radio"(?![^>]*\bchecked)[^>]*>', "", form)
    results = {
        name: escapes.unescape(value)
        for name, value in re.findall(r'<input [^>]*name="([\w-]+)"[^>]*?value="([^"]*)"', form)
    }
    for name, value in re.findall(
        r'<textarea [^>]*name="([\w-]+)"[^>]*>(.*?)</textarea>', form, re.S
    ):
        results[name] = escapes.unescape(value)
    results.pop("csrfmiddlewaretoken", None)
    return results


def _type(sent: dict[str, str], names: tuple[str, ...]) -> dict[str, str]:
    return sent | {f"f-{name}": MINE[name] for name in names} | {"reason": "typo"}


@pytest.fixture
def client(cast: Cast) -> Client:
    return cast.client("operator")


@pytest.mark.nightly
@pytest.mark.parametrize("mine", SUBSETS[1:], ids="+".join)
def test_every_pair_of_edits(cast: Cast, client: Client, mine: tuple[str, ...]) -> None:
    agent = scene.make_agent()
    for theirs in SUBSETS[1:]:
        thread = scene.waiting(cast.workspace, agent).thread
        url = f"/threads/{thread}/edit/"
        opened = _inputs(client.get(url).content.decode())
        assert "checkpoint" in opened
        written = {name: THEIRS[name] for name in theirs}
        edit(cast.actor("operator"), thread, written, "r")
        late = client.post(url, _type(opened, mine))
        page = late.content.decode()
        assert late.status_code == 412
        again = _inputs(page)
        # What this person wrote is kept, everything else stands as it does now.
        for name in NAMES:
            if name in mine:
                assert again[f"f-{name}"].replace("\r", "") == MINE[name]
            elif name in theirs:
                text = written[name]
                shown = "\n".join(text) if isinstance(text, list) else str(text)
                assert again[f"f-{name}"] == shown
        overtaken = set(mine) & set(theirs)
        assert page.count("Somebody else changed this meanwhile") == len(overtaken)
        sent = client.post(url, again)
        assert sent.status_code == 303, sent.content.decode()
        row = queries.thread(thread, workspace=cast.workspace)
        state = queries.state_at(thread, row.head)
        for name in NAMES:
            wanted = MINE_READ[name] if name in mine else written.get(name, state[name])
            assert json.dumps(state[name]) == json.dumps(wanted), (mine, theirs, name)


@pytest.mark.requirement("C41")
@pytest.mark.parametrize(
    ("theirs", "mine"), [(("goal",), ("goal", "limit")), (("goal", "findings"), ("limit",))]
)
def test_the_second_of_two_people_sees_the_newer_state_and_keeps_the_draft(
    cast: Cast, client: Client, theirs: tuple[str, ...], mine: tuple[str, ...]
) -> None:
    """Two sessions on the edit page: the first one saves, then the second one does."""
    user = get_user_model()._default_manager.create_user(username="colleague")
    store.grant(cast.workspace, user.pk, "operator", actor="user:0")
    colleague = Client()
    colleague.force_login(user, "dashboard.identity.backends.Passwords")
    thread = scene.waiting(cast.workspace, scene.make_agent()).thread
    url = f"/threads/{thread}/edit/"
    first = _inputs(colleague.get(url).content.decode())
    second = _inputs(client.get(url).content.decode())
    assert first["version"] == second["version"]

    written = {name: THEIRS[name] for name in theirs}
    texts = {"goal": "their goal", "findings": "theirs"}
    sent = first | {f"f-{name}": texts[name] for name in theirs} | {"reason": "theirs"}
    assert colleague.post(url, sent).status_code == 303
    version = queries.thread(thread, workspace=cast.workspace).version

    late = client.post(url, _type(second, mine))
    page = late.content.decode()
    assert late.status_code == 412
    assert queries.thread(thread, workspace=cast.workspace).version == version, "nothing was saved"
    again = _inputs(page)
    assert (again["version"], again["reason"]) == (str(version), "typo")
    for name in NAMES:
        wanted = MINE[name] if name in mine else texts.get(name)
        if wanted is not None and (name in mine or name in theirs):
            assert again[f"f-{name}"].replace("\r", "") == wanted, name
    assert page.count(forms.OVERTAKEN) == len(set(mine) & set(theirs))

    assert client.post(url, again).status_code == 303
    row = queries.thread(thread, workspace=cast.workspace)
    state = queries.state_at(thread, row.head)
    for name in NAMES:
        if name in mine:
            assert state[name] == MINE_READ[name]
        elif name in theirs:
            assert state[name] == written[name], "the first one's value stands"


def test_nothing_typed_is_nothing_changed_though_the_state_moved(
    cast: Cast, client: Client
) -> None:
    thread = scene.waiting(cast.workspace, scene.make_agent()).thread
    url = f"/threads/{thread}/edit/"
    opened = _inputs(client.get(url).content.decode()) | {"reason": "typo"}
    edit(cast.actor("operator"), thread, {"goal": "their goal"}, "r")
    answer = client.post(url, opened)
    assert answer.status_code == 422
    assert "Change at least one value." in answer.content.decode()
    head = queries.thread(thread, workspace=cast.workspace).head
    assert queries.state_at(thread, head)["goal"] == "their goal"


# --- the arguments of a request -------------------------------------------------------------------

ARGS: dict[str, Any] = {"goal": "tea", "limit": 3, "findings": ["a"]}
BOTH = Terms(stages=(Seat(count=2),))
TOOL: dict[str, Any] = {
    "type": "object",
    "properties": {
        "goal": {"type": "string"},
        "limit": {"type": "integer", "maximum": 100},
        "findings": {"type": "array", "items": {"type": "string"}},
    },
}
FORM, JSON = "form", "json"


def _open_request(cast: Cast, agent: UUID) -> ApprovalRow:
    return scene.waiting(cast.workspace, agent, args=ARGS, schema=TOOL, terms=BOTH)


def _edit(cast: Cast, row: ApprovalRow, args: dict[str, Any]) -> None:
    approval = requests.approval(row.id, workspace=row.workspace)
    decisions.decide(cast.actor("manager"), row.id, "edit", approval.standing_hash, "", args)


def _typed(sent: dict[str, str], names: tuple[str, ...], tab: str) -> dict[str, str]:
    if tab == FORM:
        return sent | {f"f-{name}": MINE[name] for name in names} | {"as": FORM}
    args = json.loads(sent["args"]) | {name: MINE_READ[name] for name in names}
    return sent | {"as": JSON, "args": json.dumps(args)}


@pytest.mark.nightly
@pytest.mark.parametrize("tab", [FORM, JSON])
@pytest.mark.parametrize("mine", SUBSETS[1:], ids="+".join)
def test_every_pair_of_edits_of_one_request(cast: Cast, mine: tuple[str, ...], tab: str) -> None:
    agent, client = scene.make_agent(), cast.client("second_manager")
    for theirs in SUBSETS[1:]:
        row = _open_request(cast, agent)
        url = f"/approvals/{row.id}/decide/"
        opened = _inputs(client.get(f"/approvals/{row.id}/edit/").content.decode())
        written = {name: THEIRS[name] for name in theirs}
        _edit(cast, row, ARGS | written)
        late = client.post(url, _typed(opened, mine, tab))
        page = late.content.decode()
        assert late.status_code == 409
        assert "Someone edited it in the meantime." in page
        again = _inputs(page)
        wanted = ARGS | written | {name: MINE_READ[name] for name in mine}
        if tab == FORM:
            assert page.count(forms.OVERTAKEN) == len(set(mine) & set(theirs))
            for name in NAMES:
                assert again[f"f-{name}"].replace("\r", "") == fields.to_text(
                    wanted[name], "lines" if name == "findings" else ""
                )
        else:
            assert json.loads(again["args"]) == wanted
        sent = client.post(url, again | {"as": tab})
        assert sent.status_code == 303, sent.content.decode()
        approval = requests.approval(row.id, workspace=row.workspace)
        assert approval.shown_args == wanted


def test_a_mistake_in_an_old_form_undoes_nobodys_edit(cast: Cast) -> None:
    row, client = _open_request(cast, scene.make_agent()), cast.client("second_manager")
    url = f"/approvals/{row.id}/decide/"
    opened = _inputs(client.get(f"/approvals/{row.id}/edit/").content.decode())
    _edit(cast, row, ARGS | {"goal": "their goal"})
    late = client.post(url, opened | {"as": FORM, "f-limit": "many"})
    assert late.status_code == 422
    again = _inputs(late.content.decode())
    assert (again["f-goal"], again["f-limit"]) == ("their goal", "many")
    assert client.post(url, again | {"as": FORM, "f-limit": "8"}).status_code == 303
    approval = requests.approval(row.id, workspace=row.workspace)
    assert approval.shown_args == ARGS | {"goal": "their goal", "limit": 8}


def test_broken_json_over_an_old_request_undoes_nobodys_edit(cast: Cast) -> None:
    row, client = _open_request(cast, scene.make_agent()), cast.client("second_manager")
    url = f"/approvals/{row.id}/decide/"
    opened = _inputs(client.get(f"/approvals/{row.id}/edit/").content.decode())
    _edit(cast, row, ARGS | {"goal": "their goal"})
    late = client.post(url, opened | {"as": JSON, "args": opened["args"] + "}"})
    assert late.status_code == 422
    again = _inputs(late.content.decode())
    mended = json.dumps(ARGS | {"limit": 8})
    late = client.post(url, again | {"as": JSON, "args": mended})
    assert late.status_code == 409
    wanted = ARGS | {"goal": "their goal", "limit": 8}
    assert json.loads(_inputs(late.content.decode())["args"]) == wanted
