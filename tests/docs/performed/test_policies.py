"""docs/howto/policies.md: each example stops a real agent where it says, and nothing else."""

from __future__ import annotations

import re
from typing import Any
from uuid import UUID

import pytest

from approvals.policies import queries as policies
from checkpoints import leases, store
from dashboard.administration.caps import SET, SetCap
from tests.contract.world import make_world
from tests.docs.performing import Performance
from tests.support.cast import Cast
from tests.unit.checkpoints.builders import new_activity
from tests.unit.dashboard import calls, scene
from tests.unit.workers.conftest import Bench
from workers.code.registry import announce

from . import paying_agent

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


@pytest.fixture
def bench(cast: Cast) -> Bench:
    paying_agent.done.clear()
    cast.users["second_manager"].groups.create(name="Treasury")
    return Bench(announce(paying_agent.graph, paying_agent.TOOLS, []), cast.workspace)


def make_policy(cast: Cast, name: str, condition: str, **more: Any) -> str:
    """An admin makes one by the API; its id."""
    answer = calls.post(
        cast.client("admin"), "/policies/", {"name": name, "condition": condition, **more}
    )
    assert answer.status_code == 201, answer.content
    return str(answer.json()["id"])


def switch_off(cast: Cast) -> None:
    for row in policies.policies(cast.workspace):
        if row.active:
            body = {"active": False}
            answer = calls.post(cast.client("admin"), f"/policies/{row.policy}/", body)
            assert answer.status_code == 200, answer.content


def stops(bench: Bench, tool: str = "pay", **args: Any) -> bool:
    """Whether people are asked before an agent does this."""
    thread = bench.start(tool=tool, args=args)
    before = len(paying_agent.done)
    status = bench.advance(thread).status
    assert status in ("waiting", "succeeded"), bench.row(thread).status_reason
    assert (len(paying_agent.done) == before) == (status == "waiting")
    return bool(status == "waiting")


def test_the_examples_about_actions(cast: Cast, bench: Bench) -> None:
    page = Performance("policies", cast)
    assert not stops(bench, total="10000"), "without a policy what the author wrote counts"

    # 1. By the form, with the stages and figures of the page.
    stages = re.search(r"Stages: `([^`]+)`, then `([^`]+)`", page.text)
    figures = re.search(r"high, (\d+) minutes to decide, (\d+) seconds to undo", page.text)
    assert stages is not None
    assert figures is not None
    form = {
        "name": "Large",
        "condition": page.code(">= 10000").strip(),
        "action": "ask",
        "stages": "\n".join(stages.groups()),
        "four_eyes": "on",
        "risk": "high",
        "deadline": figures[1],
        "undo_window": figures[2],
        "on_expiry": "expire",
        "valid_for": "24",
        "do": "save",
    }
    assert "Policies" in page.page("/admin/policies/", "admin")
    answer = cast.client("admin").post("/admin/policies/add/", form)
    assert answer.status_code == 303, answer.content.decode()
    (row,) = policies.policies(cast.workspace)
    assert (row.deadline, row.terms.undo_window) == (240 * 60, 10)
    assert stops(bench, total="10000")
    assert not stops(bench, total="9999.99")
    assert stops(bench), "a missing value counts as met where a policy asks"
    large = bench.start(args={"total": "20000"})
    bench.advance(large)
    request = bench.open(large)
    assert (request.risk, len(request.terms["stages"])) == ("high", 2)
    switch_off(cast)

    # 2. What is allowed comes before what asks; a missing amount allows nothing.
    def euros(amount: str, currency: str = "EUR") -> dict[str, str]:
        return {"amount": amount, "currency": currency}

    make_policy(cast, "Small", page.code("< 50").strip(), action="allow")
    make_policy(cast, "All", "tool == 'pay'")
    assert not stops(bench, total=euros("49.99"))
    assert stops(bench, total=euros("50"))
    assert stops(bench, total=euros("-1")), "it has a lower bound"
    assert stops(bench, total=euros("49.99", "JPY"))
    assert stops(bench, total=euros("4e1"))
    assert stops(bench, total="49.99"), "without a currency it is not an amount of money"
    assert stops(bench)
    switch_off(cast)

    # 3. One item of a list is enough.
    make_policy(cast, "Accounts", page.code("has(args.payments)").strip())
    assert stops(bench, payments=[{"iban": "DE89"}, {"iban": "FR76"}])
    assert not stops(bench, payments=[{"iban": "DE89"}, {"iban": "DE12"}])
    assert not stops(bench, total="1"), "`has` looks whether it is there"
    switch_off(cast)

    # 4. Mail that leaves the house, and an expensive thread.
    make_policy(cast, "Mail", page.code("send_mail").strip())
    assert stops(bench, "send_mail", to="a@example.com")
    assert not stops(bench, "send_mail", to="Ada@EXAMPLE.org")
    switch_off(cast)
    make_policy(cast, "Dear", page.code("cost > 20").strip())
    assert not stops(bench, total="1")
    assert bench.advance(spent(bench)).status == "waiting"
    switch_off(cast)

    # 7. A tool without an undo.
    make_policy(cast, "Lasting", page.code("undo == 'none' &&").strip())
    assert stops(bench, total="1")
    switch_off(cast)

    # 8. Blocked, and nobody is asked.
    make_policy(cast, "Closed", page.code("tool.startsWith('pay')").strip(), action="block")
    done = len(paying_agent.done)
    thread = bench.start(args={"total": "1"})
    while bench.row(thread).status == "queued":
        bench.advance(thread)
    (request,) = bench.approvals(thread)
    assert (request.status, request.outcome, request.blocked) == ("settled", "reject", True)
    assert len(paying_agent.done) == done


def spent(bench: Bench) -> UUID:
    """A queued thread that has spent 20.01."""
    thread = bench.start(args={"total": "1"})
    work = leases.acquire(thread, owner="worker:test")
    assert work is not None
    call = new_activity(work, "model#0", kind="model")
    store.record_activity(work, call, result="yes", usage={"tokens": 1, "cost": "20.01"})
    store.hand_back(work, reason="it has spent much")
    return thread


def test_the_examples_about_people_and_nodes(cast: Cast, bench: Bench) -> None:
    page = Performance("policies", cast)
    operator = cast.client("operator")

    # 5. Somebody else decides about a fork; exactly what was asked is done, once.
    policy = make_policy(cast, "Two", page.code("operation in").strip())
    row = scene.waiting(cast.workspace, scene.make_agent("payments"))
    other = scene.waiting(cast.workspace, scene.make_agent("research"))
    head = calls.post(operator, f"/threads/{row.thread}/fork/", {})
    assert head.status_code == 202, head.content
    assert head.json()["url"].startswith("/approvals/")
    edit = {"changes": {"goal": "weather"}, "reason": "typo"}
    second = calls.post(operator, f"/threads/{row.thread}/edit/", edit)
    assert second.status_code == 202, second.content
    assert calls.post(operator, f"/threads/{other.thread}/edit/", edit).status_code == 200
    request = operator.get(f"/api/v1/approvals/{second.json()['approval']}/").json()
    assert request["proposal"]["arguments"]["changes"] == {"goal": "weather"}
    assert request["proposal"]["arguments"]["reason"] == "typo"
    body = {"verdict": "approve", "proposal_hash": request["standing_hash"]}
    address = f"/approvals/{request['id']}/decide/"
    calls.refused(calls.post(operator, address, body), 403)
    assert calls.post(cast.client("manager"), address, body).status_code == 200
    state = operator.get(f"/api/v1/threads/{row.thread}/state/").json()["state"]
    assert state["goal"] == "weather"

    # What a change would touch, by call and by command; nothing is saved by it.
    change = {"active": False}
    counts = page.call("POST /policies/{id}/?preview=1", "admin", change, scopes=None, ID=policy)
    by_command = page.run("./manage.py policy preview", "admin", more="Two --switch off")
    assert by_command == counts
    assert calls.post(page.client("admin"), f"/policies/{policy}/", change).status_code == 403, (
        "no token may change policies"
    )
    assert [one.active for one in policies.policies(cast.workspace)] == [True]
    switch_off(cast)

    # 6. Before a step, whoever wrote the agent.
    make_policy(cast, "Look first", page.code("node == 'publish'").strip())
    thread = bench.start(args={"total": "1"})
    assert bench.advance(thread).status == "waiting"
    assert (bench.open(thread).node, paying_agent.done[-1]) == ("publish", "paid 1")
    assert bench.state(thread)["would"] == ""
    bench.decide(thread, "approve")
    assert bench.advance(thread).status == "succeeded"
    switch_off(cast)

    # What would hold a call, by call of an agent that works elsewhere.
    world = make_world(cast)
    make_policy(cast, "Cards", "tool == 'charge'")
    held, token = world.reporting
    check = {"node": "work", "key": "x#0", "kind": "effect", "tool": "charge"}
    client = page.client("operator", ("read", "work"))
    unit = page.unit("POST /threads/{id}/activities/check/").replace("{id}", str(held))
    answer = calls.post(client, unit.removeprefix("POST "), check, **{"Gatepost-Lease": str(token)})
    assert (answer.json()["asks"], answer.json()["policy"]) == (True, "Cards"), answer.content

    # What holds the tools of an agent.
    answer = page.call("GET /agents/{name}/", "viewer", **{"{name}": "market-payments"})
    held = answer["held_tools"]
    assert [one["tool"] for one in held] == ["pay", "send_mail"]

    # Calls and commands that the page names at its end.
    listed = page.client("viewer").get("/api/v1/policies/").json()["results"]
    body = {"name": "Made", "condition": "tool == 'x'"}
    page.call("POST /api/v1/policies/", "admin", body, 201, scopes=None)
    tried = {"condition": "tool == 'publish'"}
    for address, one in (("/policies/{id}/", policy), ("/policies/try/", ""), ("/caps/", "")):
        path = f"/api/v1{page.unit(address).replace('{id}', one)}"
        admin = cast.client("admin")
        answer = (
            calls.post(admin, path.removeprefix("/api/v1"), tried)
            if "try" in path
            else (admin.get(path))
        )
        assert answer.status_code == 200, (address, answer.content)
    assert "swagger" in page.page("/api/docs/", "viewer")
    document = cast.client("viewer").get("/api/schema/").content.decode()
    assert "/policies/try/" in document
    rows = page.run("./manage.py policy list", "viewer")["results"]
    assert len(rows) == len(listed) + 1
    assert page.run("policy show", "viewer", more="Two")["id"] == policy
    before = policies.policies(cast.workspace)
    matched = page.run("policy try", "admin")
    assert matched["looked_at"] > 0
    assert policies.policies(cast.workspace) == before
    above = "performed by the test above"
    page.complete(
        {
            "tool == 'pay' && amount(args.total) >= 10000": above,
            "tool == 'pay' && money(args.total, 'EUR') > 0": above,
            "has(args.payments)": above,
            "tool == 'send_mail'": above,
            "cost > 20": above,
            "undo == 'none' &&": above,
            "tool.startsWith('pay')": above,
            "/admin/policies/": above,
        }
    )


def test_a_thread_that_meets_a_cap_pauses_and_says_why(cast: Cast, bench: Bench) -> None:
    assert "A thread that meets a cap pauses" in Performance("policies", cast).text
    SET.run(cast.actor("admin"), SetCap(scope="thread", per="total", max_cost="20"))
    assert "20" in cast.client("admin").get("/admin/policies/").content.decode()
    row = bench.row(spent(bench))
    row = bench.advance(row.id)
    assert (row.status, "20" in row.status_reason) == ("paused", True), row
    SET.run(cast.actor("admin"), SetCap(scope="thread", per="total", max_cost="30"))
    store.resume(row.id, actor="user:1")
    assert bench.advance(row.id).status == "succeeded"
