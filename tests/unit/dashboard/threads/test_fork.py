"""The fork page: fields and JSON, the difference before it runs, a budget, another output."""

from __future__ import annotations

import json
from typing import Any
from uuid import UUID

import pytest
from django.test import Client

from checkpoints import queries
from checkpoints.queries.overview.fork_budgets import fork_budget
from checkpoints.views import ActivityRow
from dashboard.errors import Invalid
from dashboard.threads.fork import fork as fork_thread
from dashboard.threads.fork import fork_point
from tests.support.cast import Cast
from tests.unit.dashboard.calls import hidden, page, post
from tests.unit.dashboard.carried import run
from tests.unit.workers.conftest import Bench
from tests.unit.workers.engine.test_counterfactuals import CALLS, MODULE
from workers.code.registry import announce


@pytest.fixture
def bench(cast: Cast) -> Bench:
    return Bench(announce(MODULE.graph, MODULE.TOOLS, [MODULE]), cast.workspace)


@pytest.fixture
def base(bench: Bench) -> UUID:
    """A thread that bought tea: it ended after four calls."""
    thread = bench.start()
    bench.advance(thread)
    bench.decide(thread, "approve")
    assert bench.advance(thread).status == "succeeded"
    CALLS.clear()
    return thread


@pytest.fixture
def client(cast: Cast) -> Client:
    return cast.client("manager")


def call_of(bench: Bench, thread: UUID, tool: str) -> ActivityRow:
    return next(a for a in bench.activities(thread) if a.tool == tool)


@pytest.mark.slow
@pytest.mark.django_db
@pytest.mark.rubric(18)
def test_form_and_json_refuse_at_the_place_and_the_difference_comes_before_the_fork(
    client: Client, cast: Cast, base: UUID, bench: Bench
) -> None:
    url = f"/threads/{base}/fork/?checkpoint=1"
    html = page(client.get(url))
    assert 'id="by-fields" checked' in html
    assert 'value="create"' not in html, "nothing runs before its difference was shown"

    # A field: refused beside it, all that was typed stays.
    typed = {"f-goal": "coffee", "f-price": "lots", "title": "Dear", "budget_cost": "0.5o"}
    html = page(client.post(url, {**typed, "act": "preview"}), 422)
    assert "This must be dollars above 0" in html
    html = page(client.post(url, typed | {"budget_cost": "0.50", "act": "preview"}), 422)
    assert "“lots” is not a whole number" in html
    assert html.index('id="f-price-hint"') < html.index("“lots” is not a whole number")
    for value in ('value="coffee"', 'value="lots"', 'value="Dear"', 'value="0.50"'):
        assert value in html

    # JSON: a fault of the text at its line, a fault of a value at the line of its channel.
    state = queries.state_at(base, queries.checkpoint_by_number(base, 1).id)
    text = json.dumps(state | {"price": 400}, indent=2)
    broken = text.replace('"price": 400,', '"price": 400').replace(
        '"price": 400\n', '"price": 400 7\n'
    )
    html = page(client.post(url, {"by": "json", "whole_state": broken, "act": "preview"}), 422)
    line = next(n for n, row in enumerate(broken.splitlines(), 1) if "400 7" in row)
    assert f"Line {line}, character" in html
    assert broken in html
    wrong = json.dumps(state | {"price": "lots"}, indent=2)
    html = page(client.post(url, {"by": "json", "whole_state": wrong, "act": "preview"}), 422)
    line = next(n for n, row in enumerate(wrong.splitlines(), 1) if "lots" in row)
    assert f"Line {line}, price: " in html
    for other, words in (("[]", "must be an object"), ('{"goal": "x"}', "is missing")):
        html = page(client.post(url, {"by": "json", "whole_state": other, "act": "preview"}), 422)
        assert words in html
    assert queries.forks_of(base) == []

    # The difference by path, and the forecast of these values; nothing was forked by it.
    form = {"by": "json", "whole_state": text, "title": "Dear", "budget_tokens": "41"}
    html = page(client.post(url, {**form, "act": "preview"}))
    assert '<li data-path="/price">' in html
    assert html.count("<li data-path=") == 1
    assert "called again" in html
    assert 'id="beyond"' in html, "42 tokens may be more than the budget of 41"
    assert queries.forks_of(base) == []

    # Another text than was shown is shown again instead of run.
    seen = {"seen": hidden(html, "seen"), "act": "create"}
    other = form | {"whole_state": text.replace("400", "500")}
    html = page(client.post(url, other | seen))
    assert "You changed something since the last preview" in html
    assert queries.forks_of(base) == []
    answer = client.post(url, other | {"seen": hidden(html, "seen"), "act": "create"})
    assert answer.status_code == 303
    (born,) = queries.forks_of(base)
    assert (born.title, queries.state_at(born.id, born.head)["price"]) == ("Dear", 500)
    own = fork_budget(born.id)
    assert own is not None
    assert own.now.as_json() == {"tokens": 41}
    row = bench.advance(born.id)
    assert (row.status, row.status_reason[:15]) == ("paused", "Over its budget")
    # A person resumes it by the button of its page: the same budget is granted once more.
    operator = cast.client("operator")
    answer = operator.post(f"/threads/{born.id}/resume/", {"version": row.version})
    assert answer.status_code == 303
    assert bench.advance(born.id).status == "succeeded"


@pytest.mark.slow
@pytest.mark.django_db
def test_one_click_at_a_call_says_whether_the_ending_flips(
    client: Client, base: UUID, bench: Bench
) -> None:
    call = call_of(bench, base, "quote")
    html = page(client.get(f"/threads/{base}/"))
    link = f"/threads/{base}/fork/?instead_of={call.id}"
    assert html.count(">What if…</a>") == 4
    assert f'href="{link}"' in html
    html = page(client.get(link))
    assert 'name="output"' in html
    assert ">30</textarea>" in html
    # The output is judged as the recorded one was: JSON, its type, what it may hold.
    for text, words in (
        ("4 0", "not valid JSON; look at line 1"),
        ("9" * 5_000, "2^53"),
        ('"dear"', "Must be a number"),
    ):
        html = page(client.post(link, {"output": text, "reason": "why not"}), 422)
        assert words in html
        assert "why not</textarea>" in html
    assert queries.forks_of(base) == []

    answer = client.post(link, {"output": "5000"})
    assert answer.status_code == 303
    compare = answer["Location"]
    (born,) = queries.forks_of(base)
    assert compare == f"/threads/compare/?left={base}&right={born.id}"
    assert born.effects == "ask"
    html = page(client.get(compare))
    assert "Still running" in html
    assert 'hx-trigger="every 4s"' in html
    assert bench.advance(born.id).status == "succeeded"
    assert CALLS == ["model"]
    html = page(client.get(compare))
    assert 'data-verdict="differs"' in html
    assert "Ends differently: sent tea → nothing" in html
    assert "only the output of" in html
    # The fork's page says where it came from.
    html = page(client.get(f"/threads/{born.id}/"))
    assert "with a different output of quote" in html
    assert "exchanged" in html


@pytest.mark.django_db
def test_the_api_and_the_command_do_the_same(
    client: Client, cast: Cast, base: UUID, bench: Bench
) -> None:
    operator = cast.client("operator")
    call = call_of(bench, base, "model")
    at = f"/threads/{base}/fork/"
    body: dict[str, Any] = {"instead_of": {"activity": str(call.id), "output": "wait"}}
    plan = post(operator, f"{at}?preview=1", body).json()
    assert plan["checkpoint"]["number"] == 1
    assert "model" not in {c["tool"] for c in plan["calls"]}
    for other, path in (
        ({"changes": {"price": 1}}, "$.changes"),
        ({"effects": "run"}, "$.effects"),
        ({"checkpoint": str(queries.checkpoint_by_number(base, 0).id)}, "$.checkpoint"),
        ({"instead_of": {"activity": str(call.id), "output": 7}}, "$.instead_of.output"),
        ({"budget": {"steps": 0}}, "$.budget.steps"),
    ):
        refused = post(operator, at, body | other)
        assert (refused.status_code, refused.json()["path"]) == (422, path), refused.json()
    missing = post(operator, at, {"instead_of": {"activity": str(base), "output": 1}})
    assert missing.status_code == 404
    made = post(operator, at, body | {"budget": {"steps": 5, "cost": "1.50"}})
    assert made.status_code == 201, made.json()
    fork = UUID(made.json()["id"])
    assert bench.advance(fork).status == "succeeded"

    head = queries.thread(base, workspace=cast.workspace).head
    diff = operator.get(f"/api/v1/threads/{base}/diff/?from={head}&to_thread={fork}").json()
    assert diff["ending"] == {
        "verdict": "differs",
        "pairs": [{"name": "done", "left": "sent tea", "right": "nothing"}],
        "unused": False,
    }
    # The same output comes to the same gate: the effect is held there, and then it ends the same.
    code, same, errors = run(
        *("threads", "fork", str(base), "--instead-of", str(call.id), "--output", '"buy"'),
        *("--budget", "steps=9", "--as", "manager"),
    )
    assert code == 0, errors
    again = UUID(same["id"])
    assert bench.advance(again).status == "waiting"
    assert "send" not in CALLS
    bench.decide(again, "approve")
    assert bench.advance(again).status == "succeeded"
    diff = operator.get(f"/api/v1/threads/{base}/diff/?from={head}&to_thread={again}").json()
    assert diff["ending"]["verdict"] == "same"


@pytest.mark.django_db
def test_outputs_hold_no_credentials(cast: Cast, base: UUID, bench: Bench) -> None:
    who, call = cast.actor("manager"), call_of(bench, base, "model")
    point = fork_point(who, base, None, call.id)
    with pytest.raises(Invalid, match="GitHub token"):
        fork_thread(who, base, point, instead_of=call.id, output="ghp_" + "C4n4ry" * 6)
    assert queries.forks_of(base) == []
