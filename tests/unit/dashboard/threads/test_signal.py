"""Signals through API, page and command: what is refused, what is shown, what is done once."""

from __future__ import annotations

import json
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.test import Client

from approvals.policies import queries as queries_policies
from checkpoints import queries, store
from checkpoints.queries.event_log import NOT_TAKEN
from dashboard.identity import tokens
from dashboard.threads.start import start_or_continue
from tests.support.cast import Cast
from tests.unit.dashboard.kit.test_second_person import approve, demand, request_of
from tests.unit.workers.conftest import Bench, bench_of
from tests.unit.workers.graphs import waits
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


def test_it_is_sent_by_hand_where_the_thread_waits(cast: Cast, bench: Bench) -> None:
    thread = bench.start(form=FORM, seconds=3600)
    client = cast.client("operator")
    page = f"/threads/{thread}/"
    assert "Send signal" not in client.get(page).content.decode()
    bench.advance(thread)
    shown = client.get(page).content.decode()
    assert "Waiting for the signal payment.settled until 20" in shown
    assert f"{page}signal/" in shown
    form = client.get(f"{page}signal/").content.decode()
    assert '<option value="payment.settled"' in form
    refused = client.post(f"{page}signal/", {"name": SETTLED, "value": "{"})
    assert refused.status_code == 422
    refused = client.post(f"{page}signal/", {"name": SETTLED, "value": '{"sum": 1}'})
    assert refused.status_code == 422
    assert "Amount: is required" in refused.content.decode()
    sent = client.post(f"{page}signal/", {"name": SETTLED, "value": '{"amount": 2}'})
    assert sent.status_code == 303
    bench.advance(thread)
    assert bench.state(thread)["notes"][0].startswith("paid {'amount': 2} by user:")


def test_what_no_wait_took_is_shown(cast: Cast, bench: Bench) -> None:
    thread = bench.start()
    store.send_signal(thread, name="other", value={"a": "blue"}, actor="user:1")
    bench.advance(thread)
    shown = cast.client("auditor").get(f"/threads/{thread}/").content.decode()
    assert "Kept until a wait of this name takes it" in shown
    assert "blue" in shown


def asked_by_hand(cast: Cast, thread: UUID) -> UUID:
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
    ident = asked_by_hand(cast, thread)
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
    ident = asked_by_hand(cast, thread)
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
