"""Signals through API, page and command: what is refused, what is shown, what is done once."""

from __future__ import annotations

import json
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.test import Client

from approvals.policies import queries as queries_policies
from approvals.records import Question, answer
from checkpoints import queries, store
from checkpoints.queries.event_log import NOT_TAKEN
from dashboard.identity import tokens
from dashboard.threads.start import start_or_continue
from tests.support.cast import Cast
from tests.unit.dashboard.kit.test_second_person import approve, demand, request_of
from tests.unit.workers.conftest import Bench, bench_of
from tests.unit.workers.graphs import waits, waits_for_two
from workers.external.announcement import Announcement

pytestmark = [pytest.mark.django_db, pytest.mark.requirement("F10")]
SETTLED = "payment.settled"
FORM = {"type": "object", "required": ["amount"]}


@pytest.fixture
def bench(cast: Cast) -> Bench:
    made = bench_of(waits)
    made.workspace = cast.workspace
    return made


def post(client: Client, thread: UUID, body: Any, **headers: str) -> Any:
    return client.post(
        f"/api/v1/threads/{thread}/signals/", body, "application/json", headers=headers or None
    )


def test_a_second_delivery_is_the_same_signal(cast: Cast, bench: Bench) -> None:
    thread = bench.start()
    client, key = cast.client("operator"), str(uuid4())
    answers = [post(client, thread, {"name": SETTLED, "value": 1}, Idempotency_Key=key).json()]
    answers += [post(client, thread, {"name": SETTLED, "value": 1}, Idempotency_Key=key).json()]
    assert answers[0]["signals"] == answers[1]["signals"]
    assert [(s["name"], s["value"]) for s in answers[0]["signals"]] == [(SETTLED, 1)]
    assert len(queries.waiting_signals(thread)) == 1
    bench.advance(thread)
    assert bench.state(thread)["notes"][-1] == "nothing more"
    assert queries.waiting_signals(thread) == []


def test_the_wait_of_now_refuses_what_does_not_fit(cast: Cast, bench: Bench) -> None:
    thread = bench.start(form=FORM)
    bench.advance(thread)
    client = cast.client("operator")
    answer = post(client, thread, {"name": SETTLED, "value": {"sum": 1}})
    assert answer.status_code == 422
    assert answer.json()["path"].startswith("$.value")
    assert bench.row(thread).status == "waiting"
    assert post(client, thread, {"name": SETTLED, "value": {"amount": 1}}).status_code == 200
    assert bench.row(thread).status == "queued"


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({"value": 1}, "$.name"),
        ({"name": " ", "value": 1}, "$.name"),
        ({"name": "x" * 256}, "$.name"),
        ({"name": SETTLED, "value": "a\x00b"}, "$.value"),
        ({"name": SETTLED, "value": "x" * 300_000}, "$.value"),
        ({"name": SETTLED, "value": 1, "more": 2}, "$.more"),
    ],
)
def test_what_no_log_takes_is_refused_with_its_path(
    cast: Cast, bench: Bench, body: Any, path: str
) -> None:
    thread = bench.start()
    answer = post(cast.client("operator"), thread, json.dumps(body))
    assert answer.status_code in (400, 413, 422)
    assert answer.json()["path"].startswith(path)
    assert queries.waiting_signals(thread) == []


def test_one_thread_keeps_so_many_and_says_so(cast: Cast, bench: Bench) -> None:
    thread = bench.start()
    for n in range(NOT_TAKEN):
        store.send_signal(thread, name="other", value=n, actor="user:1")
    answer = post(cast.client("operator"), thread, {"name": SETTLED, "value": 1})
    assert (answer.status_code, "keeps no more" in answer.json()["detail"]) == (409, True)
    bench.advance(thread)  # what it waits for now is never refused for what it does not
    assert post(cast.client("operator"), thread, {"name": SETTLED, "value": 1}).status_code == 200
    bench.advance(thread)
    assert bench.state(thread)["notes"][0] == f"paid 1 by {cast.actor('operator').id}"


def test_a_file_of_another_workspace_is_refused(cast: Cast, bench: Bench) -> None:
    value = {"report": {"$artifact": "0" * 64}}
    answer = post(cast.client("operator"), bench.start(), {"name": SETTLED, "value": value})
    assert (answer.status_code, answer.json()["path"]) == (422, "$.value.report")


def test_an_agent_that_works_elsewhere_takes_none(cast: Cast) -> None:
    made = Announcement(framework="python", tools={"mail": {}})
    thread, _ = start_or_continue(
        cast.actor("operator"), agent="elsewhere", input={"n": 1}, external=made
    )
    answer = post(cast.client("operator"), thread, {"name": SETTLED})
    assert (answer.status_code, "works elsewhere" in answer.json()["detail"]) == (409, True)


PAYMENT = {
    "type": "object",
    "required": ["amount", "paid"],
    "properties": {
        "amount": {"type": "integer", "minimum": 1, "description": "Cents that were paid."},
        "paid": {"type": "boolean"},
        "by": {"type": "string", "enum": ["card", "bank"]},
        "lines": {"type": "array", "items": {"type": "object"}},
    },
}


def test_it_is_sent_by_hand_where_the_thread_waits(cast: Cast, bench: Bench) -> None:
    thread = bench.start(form=PAYMENT, seconds=3600)
    client = cast.client("operator")
    page = f"/threads/{thread}/"
    assert "Send signal" not in client.get(page).content.decode()
    bench.advance(thread)
    shown = client.get(page).content.decode()
    assert "Waiting for the signal payment.settled until 20" in shown
    assert f"{page}signal/" in shown
    answer = client.get(f"{page}signal/")
    form = answer.content.decode()
    assert '<input type="hidden" name="name" value="payment.settled">' in form
    kinds = {field.name: field.kind for field in answer.context["fields"]}
    assert kinds == {"f-amount": "integer", "f-paid": "bool", "f-by": "select", "f-lines": "json"}
    assert "Cents that were paid" in form
    version = str(bench.row(thread).version)
    sent = {"name": SETTLED, "version": version, "f-amount": "0", "f-paid": ""}
    refused = client.post(f"{page}signal/", sent)
    assert refused.status_code == 422
    assert refused.context["errors"].keys() == {"amount", "paid"}
    assert queries.waiting_signals(thread) == []
    sent |= {"f-amount": "2", "f-paid": "true", "f-by": ""}
    assert client.post(f"{page}signal/", sent | {"version": "1"}).status_code == 412
    assert client.post(f"{page}signal/", sent).status_code == 303
    bench.advance(thread)
    assert bench.state(thread)["notes"][0].startswith("paid {'paid': True, 'amount': 2} by user:")


@pytest.mark.parametrize(
    ("schema", "written", "wrong", "value"),
    [
        (FORM, '{"amount": 2}', '{"sum": 1}', {"amount": 2}),
        (
            PAYMENT | {"additionalProperties": {"type": "string"}},
            *['{"amount": 2, "paid": true}', "7"],
            {"amount": 2, "paid": True},
        ),
        ({"properties": {"a": {}}, "required": ["b"]}, '{"b": 1}', '{"a": 1}', {"b": 1}),
        ({"properties": {"a": {}}, "anyOf": [{"required": ["b"]}]}, '{"b": 1}', "{}", {"b": 1}),
        ({"type": "integer"}, "7", "seven", 7),
        ({"type": "string"}, "{", "", "{"),
        ({"type": ["object", "null"], "properties": {"a": {}}}, "null", "3", None),
        (None, "[1, 2]", "[1", [1, 2]),
        (None, "", "{", None),
    ],
)
def test_what_inputs_cannot_say_is_written_in_one(
    cast: Cast, bench: Bench, schema: Any, written: str, wrong: str, value: Any
) -> None:
    thread = bench.start(form=schema)
    bench.advance(thread)
    client, page = cast.client("operator"), f"/threads/{thread}/signal/"
    assert [field.name for field in client.get(page).context["fields"]] == ["value"]
    sent = {"name": SETTLED, "version": str(bench.row(thread).version)}
    refused = client.post(page, sent | {"value": wrong})
    assert refused.status_code == 422
    assert [field.value for field in refused.context["fields"]] == [wrong]
    assert [bool(field.error) for field in refused.context["fields"]] == [True]
    assert client.post(page, sent | {"value": written}).status_code == 303
    assert [row.value for row in queries.waiting_signals(thread)] == [value]


def test_a_form_of_a_wait_that_is_over_sends_nothing(cast: Cast, bench: Bench) -> None:
    thread = bench.start(form=PAYMENT, seconds=3600)
    bench.advance(thread)
    client, page = cast.client("operator"), f"/threads/{thread}/signal/"
    before = client.post(page, {"name": SETTLED, "value": '{"amount": 3, "paid": false}'})
    assert before.status_code == 303, "written as JSON before the wait began"
    bench.advance(thread)
    other = bench.start(beside="ask")
    page = f"/threads/{other}/signal/"
    answer = client.post(page, {"name": SETTLED, "f-amount": "4", "f-paid": "true"})
    assert answer.status_code == 409
    assert "no longer waits for this signal" in answer.content.decode()
    assert queries.waiting_signals(other) == []


def test_the_signal_is_chosen_where_it_waits_for_several(cast: Cast) -> None:
    bench = bench_of(waits_for_two)
    bench.workspace = cast.workspace
    thread = bench.start()
    bench.advance(thread)
    client, page = cast.client("operator"), f"/threads/{thread}/signal/"
    first, second = (client.get(f"{page}?name={n}") for n in ("payment.settled", "goods.arrived"))
    in_order = ["f-amount", "f-by"]  # the author's, which the database does not keep
    assert [field.name for field in first.context["fields"]] == in_order
    assert [field.name for field in second.context["fields"]] == ["value"]
    assert 'href="?name=goods.arrived"' in first.content.decode()
    assert client.get(f"{page}?name=other").context["name"] in ("payment.settled", "goods.arrived")
    assert client.post(page, {"name": "goods.arrived", "value": "3"}).status_code == 303
    assert [(row.name, row.value) for row in queries.waiting_signals(thread)] == [
        ("goods.arrived", 3)
    ]


def test_what_no_wait_took_is_shown(cast: Cast, bench: Bench) -> None:
    thread = bench.start()
    store.send_signal(thread, name="other", value={"a": "blue"}, actor="user:1")
    bench.advance(thread)
    shown = cast.client("auditor").get(f"/threads/{thread}/").content.decode()
    assert "Kept until a wait of this name takes it" in shown
    assert "blue" in shown


def request_to_send(cast: Cast, thread: UUID) -> UUID:
    """The request that the operator's form opened instead of sending."""
    answer = cast.client("operator").post(
        f"/threads/{thread}/signal/", {"name": SETTLED, "value": "40"}
    )
    assert (answer.status_code, answer["Location"][:11]) == (303, "/approvals/")
    return UUID(answer["Location"].split("/")[2])


def test_a_policy_lets_somebody_else_decide_on_what_a_person_sends(
    cast: Cast, bench: Bench
) -> None:
    demand(cast, f"operation == 'signal' && args.name == '{SETTLED}'")
    operator, thread = cast.actor("operator"), bench.start()
    bench.advance(thread)
    ident = request_to_send(cast, thread)
    assert queries.waiting_signals(thread) == []
    assert bench.row(thread).status == "waiting"
    row = request_of(cast, ident)
    assert (row.kind, row.tool, row.terms["barred"]) == ("operation", "signal", [operator.person])
    shown = cast.client("manager").get(f"/approvals/{ident}/").content.decode()
    assert f"Send a signal to “{bench.row(thread).title}”" in shown
    assert SETTLED in shown
    approve(cast, ident)
    assert queries_policies.carried_out(ident) == ("done", "Done.")
    bench.advance(thread)
    assert bench.state(thread)["notes"][0] == f"paid 40 by {operator.id}"


def test_what_was_approved_is_for_the_wait_of_then(cast: Cast, bench: Bench) -> None:
    demand(cast, "operation == 'signal'")
    thread = bench.start()
    bench.advance(thread)
    ident = request_to_send(cast, thread)
    store.send_signal(thread, name=SETTLED, value=1, actor="user:1")  # the service was faster
    bench.advance(thread)
    approve(cast, ident)
    outcome = queries_policies.carried_out(ident)
    assert outcome is not None
    assert outcome[0] == "failed"
    assert queries.waiting_signals(thread) == []


def test_a_service_is_asked_nothing_and_a_persons_token_is(cast: Cast, bench: Bench) -> None:
    demand(cast, "operation == 'signal'")
    thread, user = bench.start(), cast.users["operator"]

    def send(value: int, *scopes: str) -> Any:
        _, token = tokens.make(user, made_by="user:0", scopes=[*scopes])
        bearer = {"Authorization": f"Bearer {token}"}
        return post(Client(), thread, {"name": SETTLED, "value": value}, **bearer)

    answer = send(1, "signal", "control")
    assert answer.status_code == 202
    assert answer.json()["url"] == f"/approvals/{answer.json()['approval']}/"
    assert queries.waiting_signals(thread) == []
    assert send(2, "signal").status_code == 200
    assert send(3, "read", "signal").status_code == 200
    assert [row.value for row in queries.waiting_signals(thread)] == [2, 3]


@pytest.mark.requirement("A28")
def test_the_records_say_who_sent_a_signal(cast: Cast, bench: Bench) -> None:
    operator, thread = cast.actor("operator"), bench.start()
    store.send_signal(thread, name=SETTLED, value={"invoice": "A-17"}, actor=operator.id)
    store.send_signal(thread, name="other", value=None, actor="user:0/token:bank")
    [row] = answer(Question(cast.workspace, text="A-17")).rows
    assert (row.thread, row.kind, row.actor) == (thread, "signal.received", operator.id)
    shown = cast.client("auditor").get("/admin/search/", {"q": "A-17"}).content.decode()
    assert f"sent the signal {SETTLED}" in shown
