"""Values of encrypted channels at the entries: nothing plain is stored, nothing has to be read."""

from __future__ import annotations

import html as markup
import json
import re
from typing import Any
from uuid import UUID

import pytest

from approvals import queries as requests
from checkpoints import queries, store
from checkpoints.state.encrypted import is_envelope
from dashboard.errors import Invalid, NeedsSecondPerson
from dashboard.threads.edit import edit
from dashboard.threads.fork import fork
from tests.contract.secrets import grep
from tests.support.cast import Cast
from tests.unit.dashboard.calls import hidden, page
from tests.unit.dashboard.carried import run
from tests.unit.dashboard.kit.test_second_person import approve, demand
from tests.unit.workers.conftest import Bench
from tests.unit.workers.encrypted.agent import NEWER, WORD

pytestmark = [pytest.mark.django_db, pytest.mark.requirement("G09")]


def opened(thread: UUID, channel: str = "diagnosis", number: int | None = None) -> Any:
    lineage = queries.lineage(thread, limit=1)[0].id
    point = lineage if number is None else queries.checkpoint_by_number(thread, number).id
    state = queries.state_at(thread, point)
    assert is_envelope(state[channel])
    return store.reading_cipher(thread).open(channel, state[channel])


def post(cast: Cast, path: str, body: Any, **headers: str) -> Any:
    return cast.client("operator").post(
        f"/api/v1{path}", json.dumps(body), content_type="application/json", headers=headers
    )


def test_start_by_call_form_and_command(cast: Cast, bench: Bench) -> None:
    body = {"agent": "case", "input": {"patient": "Ada", "diagnosis": WORD}, "name": "case-1"}
    answer = post(cast, "/threads/", body, **{"Idempotency-Key": "start"})
    assert answer.status_code == 201, answer.content
    assert opened(UUID(answer.json()["id"])) == WORD
    again = post(cast, "/threads/", body)
    assert (again.status_code, again.json()["id"]) == (200, answer.json()["id"])
    other = post(cast, "/threads/", body | {"input": {"patient": "Ada", "diagnosis": NEWER}})
    assert other.status_code == 422
    form = {"agent": "case", "f-patient": "Bob", "f-diagnosis": NEWER}
    made = cast.client("operator").post("/threads/new/", form)
    assert made.status_code == 303, made.content
    assert opened(UUID(made["Location"].split("/")[2])) == NEWER
    code, output, errors = run(
        *("threads", "start", "case", "--set", "patient=Eve", "--set", f"diagnosis={WORD}"),
        *("--as", "operator"),
    )
    assert code == 0, errors
    assert opened(UUID(output["id"])) == WORD
    assert grep.everywhere(WORD) | grep.everywhere(NEWER) == set()


def test_a_schema_judges_new_values_and_leaves_ciphertext_alone(cast: Cast, paused: UUID) -> None:
    path = f"/threads/{paused}/edit/"
    wrong = post(cast, path, {"changes": {"diagnosis": 7}, "reason": "r"})
    assert wrong.status_code == 422
    assert "diagnosis" in wrong.json()["detail"]
    preview = post(cast, f"{path}?preview=1", {"changes": {"patient": "Bob"}, "reason": "r"})
    assert preview.status_code == 200, preview.content
    edited = post(cast, path, {"changes": {"patient": "Bob"}, "reason": "r"})
    assert edited.status_code == 200, edited.content
    assert opened(paused) == WORD
    assert post(cast, path, {"changes": {"diagnosis": NEWER}, "reason": "r"}).status_code == 200
    assert opened(paused) == NEWER
    assert grep.everywhere(WORD) | grep.everywhere(NEWER) == set()


def test_a_credential_is_refused_in_it_as_everywhere(cast: Cast, paused: UUID) -> None:
    token = "ghp_C4n4ryC4n4ryC4n4ryC4n4ryC4n4ryC4n4ry"
    answer = post(
        cast, f"/threads/{paused}/edit/", {"changes": {"diagnosis": token}, "reason": "r"}
    )
    assert answer.status_code == 422
    assert "GitHub token" in answer.content.decode()


def test_a_moved_ciphertext_is_refused_at_the_entry(cast: Cast, bench: Bench, paused: UUID) -> None:
    other = bench.state(bench.start(patient="Bob", diagnosis=NEWER))["diagnosis"]
    answer = post(
        cast, f"/threads/{paused}/edit/", {"changes": {"diagnosis": other}, "reason": "r"}
    )
    assert answer.status_code == 422
    assert "not one of this thread and channel" in answer.json()["detail"]


def test_the_form_keeps_what_is_left_empty(cast: Cast, paused: UUID) -> None:
    client, url = cast.client("operator"), f"/threads/{paused}/edit/"
    text = page(client.get(url))
    assert "encrypted; leave empty to keep the value" in text
    assert WORD not in text
    form = {name: hidden(text, name) for name in ("version", "checkpoint")}
    form |= {"reason": "name", "f-patient": "Bob", "f-diagnosis": "", "f-findings": ""}
    assert client.post(url, form | {"act": "save"}).status_code == 303
    assert (opened(paused), opened(paused, "findings")) == (WORD, {})
    text = page(client.get(url))
    form = form | {name: hidden(text, name) for name in ("version", "checkpoint")}
    form |= {"f-diagnosis": NEWER, "f-findings": '{"a": 1}'}
    assert client.post(url, form | {"act": "save"}).status_code == 303
    assert (opened(paused), opened(paused, "findings")) == (NEWER, {"a": 1})
    assert grep.everywhere(WORD) | grep.everywhere(NEWER) == set()


def test_the_whole_state_as_json_comes_back_with_its_ciphertext(cast: Cast, paused: UUID) -> None:
    client, url = cast.client("operator"), f"/threads/{paused}/edit/"
    text = page(client.get(url))
    match = re.search(r'<textarea id="whole_state".*?>(.*?)</textarea>', text, re.S)
    assert match is not None
    state = json.loads(markup.unescape(match[1]))
    assert is_envelope(state["diagnosis"])
    form = {name: hidden(text, name) for name in ("version", "checkpoint")}
    form |= {"by": "json", "reason": "name"}
    form["whole_state"] = json.dumps(state | {"patient": "Bob"})
    seen = page(client.post(url, form | {"act": "save"}))
    assert 'data-path="/patient"' in seen
    form |= {"seen": hidden(seen, "seen"), "act": "save"}
    assert client.post(url, form).status_code == 303
    assert opened(paused) == WORD


def test_fork_with_another_value(cast: Cast, bench: Bench, thread: UUID) -> None:
    first = queries.checkpoint_by_number(thread, 0).id
    body = {"checkpoint": str(first), "changes": {"diagnosis": NEWER}}
    answer = post(cast, f"/threads/{thread}/fork/", body)
    assert answer.status_code == 201, answer.content
    fork = UUID(answer.json()["id"])
    assert opened(fork) == NEWER
    assert opened(thread) == WORD
    assert bench.advance(fork).status == "succeeded"
    assert grep.everywhere(NEWER) == set()


@pytest.mark.parametrize("operation", ["edit", "fork"])
def test_a_second_person_decides_on_ciphertext(
    cast: Cast, bench: Bench, paused: UUID, operation: str
) -> None:
    demand(cast, f"operation == '{operation}'")
    operator, changes = cast.actor("operator"), {"diagnosis": NEWER}
    head = queries.thread(paused, workspace=cast.workspace).head
    arguments = (changes, "new result") if operation == "edit" else (head, changes)
    with pytest.raises(NeedsSecondPerson) as refusal:
        {"edit": edit, "fork": fork}[operation](operator, paused, *arguments)
    ident = UUID(refusal.value.facts["approval"])
    row = requests.approval(ident, workspace=cast.workspace)
    assert is_envelope(row.args["arguments"]["changes"]["diagnosis"])
    shown = cast.client("manager").get(f"/approvals/{ident}/").content.decode()
    assert NEWER not in shown
    approve(cast, ident)
    (born,) = [paused] if operation == "edit" else [one.id for one in queries.forks_of(paused)]
    assert opened(born) == NEWER
    bench.resume(paused)
    assert bench.advance(born).status == "succeeded"
    assert grep.everywhere(NEWER) == set()


def test_an_edit_that_the_schema_refuses_asks_nobody(cast: Cast, paused: UUID) -> None:
    demand(cast, "operation == 'edit'")
    with pytest.raises(Invalid):
        edit(cast.actor("operator"), paused, {"diagnosis": 7}, "typo")
