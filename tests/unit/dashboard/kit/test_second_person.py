"""Fork, rollback, edit and answers about effects that a policy lets a second person decide."""

from __future__ import annotations

import json
import re
from functools import partial
from typing import Any
from uuid import UUID

import pytest
from django.db import connection, transaction

from approvals import queries
from approvals.policies import changes as policies
from approvals.policies import queries as queries_policies
from approvals.policies.drafts import Draft
from approvals.records import Outcomes, outcomes_of
from approvals.rules.terms import Seat, Terms
from approvals.verification import proof
from checkpoints import queries as threads
from checkpoints import store
from checkpoints.chain import verify_thread
from checkpoints.states import EventKind, Status
from dashboard.errors import ActionError, BlockedByPolicy, Invalid, NeedsSecondPerson, Stale
from dashboard.kit import second_person
from dashboard.kit.action import Action, read
from dashboard.threads.code import choose_code
from dashboard.threads.edit import edit
from dashboard.threads.fork import fork as fork_thread
from dashboard.threads.pause import RESUME, Resume
from dashboard.threads.retry import RETRY
from dashboard.threads.roll_back import roll_back
from dashboard.threads.skip import SKIP
from tests.contract.world import make_world
from tests.support import decisions
from tests.support.cast import Cast
from tests.support.settled import settle
from tests.unit.dashboard import scene

pytestmark = pytest.mark.django_db


def demand(cast: Cast, condition: str, **more: Any) -> Any:
    """An active policy on what people do."""
    return policies.make(cast.workspace, Draft("Two people", condition, **more), actor="user:9")


def paused(cast: Cast, agent: UUID) -> UUID:
    """A paused thread with two checkpoints."""
    work = scene.lease(scene.start(cast.workspace, agent))
    scene.step(work, report="draft", leave_by=EventKind.THREAD_PAUSED)
    return work.thread


def second_request(act: Any) -> Any:
    """The request that an action opened instead of acting."""
    with pytest.raises(NeedsSecondPerson) as error:
        act()
    ident = UUID(error.value.facts["approval"])
    assert error.value.facts["url"] == f"/approvals/{ident}/"
    return ident


def request_of(cast: Cast, ident: UUID) -> Any:
    return queries.approval(ident, workspace=cast.workspace)


def approve(cast: Cast, ident: UUID, who: str = "manager", verdict: str = "approve") -> Any:
    row = request_of(cast, ident)
    return decisions.decide(
        cast.actor(who), ident, verdict, row.standing_hash, "" if verdict == "approve" else "no"
    )


def kinds(thread: UUID) -> list[str]:
    return [str(e.kind) for e in threads.events_after(thread, 0, limit=500)]


def test_an_edit_waits_for_a_second_person_and_is_carried_out_as_it_was_asked(
    cast: Cast, agent: UUID
) -> None:
    demand(cast, "operation == 'edit' && has(args.changes.goal)", note="goals are agreed")
    thread, operator = paused(cast, agent), cast.actor("operator")
    before = threads.thread(thread, workspace=cast.workspace)
    edit(operator, thread, {"report": "free"}, "typo")  # not what the policy is about
    now = threads.thread(thread, workspace=cast.workspace)
    assert now.head != before.head
    ident = second_request(lambda: edit(operator, thread, {"goal": "other goal"}, "new goal"))
    row = request_of(cast, ident)
    assert (row.kind, row.tool, row.status) == ("operation", "edit", "pending")
    assert row.args["arguments"] == {
        "changes": {"goal": "other goal"},
        "reason": "new goal",
        "expected_version": now.version,
    }
    assert row.terms["barred"] == [operator.person]
    assert row.terms["four_eyes"]
    assert row.terms["undo_window"] == 0
    assert row.terms["rule"] == "The policy “Two people” asks for it: goals are agreed."
    assert threads.thread(thread, workspace=cast.workspace).head == now.head
    approve(cast, ident)
    after = threads.thread(thread, workspace=cast.workspace)
    assert threads.state_at(thread, after.head)["goal"] == "other goal"
    point = threads.checkpoint(thread, after.head)
    assert point.created_by == operator.person
    assert queries_policies.carried_out(ident) == ("done", "Done.")
    payload = kinds(thread)
    assert payload[-1] == "operation.done"
    assert payload.index("approval.decided") < len(payload) - payload[::-1].index("state.edited")
    assert verify_thread(thread).intact
    # Once and never again.
    assert second_person.carry_out(request_of(cast, ident), cast.actor("manager")) is None
    assert threads.thread(thread, workspace=cast.workspace).head == after.head


def test_a_fork_is_made_once_and_rejecting_makes_none(cast: Cast, agent: UUID) -> None:
    demand(cast, "operation == 'fork'")
    thread, manager = paused(cast, agent), cast.actor("manager")
    head = threads.thread(thread, workspace=cast.workspace).head
    n = len(threads.threads(workspace=cast.workspace).rows)
    first = second_request(lambda: fork_thread(manager, thread, head, {"goal": "trains"}, "Fork"))
    assert len(threads.threads(workspace=cast.workspace).rows) == n
    approve(cast, first, "second_manager")
    result = queries_policies.carried_out(first)
    assert result is not None
    assert result[0] == "done"
    assert len(threads.threads(workspace=cast.workspace).rows) == n + 1
    born = UUID(result[1].rpartition(" ")[2].rstrip("."))
    row = threads.thread(born, workspace=cast.workspace)
    assert threads.state_at(born, row.head)["goal"] == "trains"
    assert row.started_by == manager.person
    second = second_request(lambda: fork_thread(manager, thread, head))
    approve(cast, second, "second_manager", "reject")
    assert queries_policies.carried_out(second) is None
    assert len(threads.threads(workspace=cast.workspace).rows) == n + 1


def test_a_rollback_waits_and_a_thread_that_moved_on_is_told_honestly(
    cast: Cast, agent: UUID
) -> None:
    demand(cast, "operation == 'roll_back'")
    thread, operator = paused(cast, agent), cast.actor("operator")
    first = threads.checkpoint_by_number(thread, 0).id
    good = second_request(lambda: roll_back(operator, thread, first, "wrong data"))
    title = threads.thread(thread, workspace=cast.workspace).title
    assert request_of(cast, good).title == f"Roll back “{title}”"
    stale = second_request(lambda: roll_back(operator, thread, first, "wrong data too"))
    name = threads.thread(thread, workspace=cast.workspace).title
    assert request_of(cast, good).title == f"Roll back “{name}”"
    edit(operator, thread, {"report": "meanwhile"}, "meanwhile")  # withdraws both
    assert request_of(cast, good).status == "withdrawn"
    assert request_of(cast, stale).status == "withdrawn"
    again = second_request(lambda: roll_back(operator, thread, first, "still wrong"))
    RESUME.run(operator, Resume(), thread)
    approve(cast, again)
    row = request_of(cast, again)
    assert (row.status, row.outcome) == ("settled", "approve")
    result = queries_policies.carried_out(again)
    assert result is not None
    assert result[0] == "failed"
    assert result[1].startswith("Not done: ")
    assert kinds(thread)[-1] == "operation.failed"
    now = threads.thread(thread, workspace=cast.workspace)
    assert now.status == Status.QUEUED
    last = second_request(lambda: roll_back(operator, thread, first, "now"))
    approve(cast, last)
    assert threads.thread(thread, workspace=cast.workspace).status == Status.ROLLING_BACK


def test_what_came_of_an_approved_rollback_are_the_effects_that_it_undoes(
    cast: Cast, agent: UUID
) -> None:
    demand(cast, "operation == 'roll_back'")
    work = scene.lease(scene.start(cast.workspace, agent))
    scene.step(work, report="draft")
    done = scene.effect(work)
    scene.step(work, report="published", leave_by=EventKind.THREAD_PAUSED)
    operator = cast.actor("operator")
    first = threads.checkpoint_by_number(work.thread, 0).id
    ident = second_request(lambda: roll_back(operator, work.thread, first, "wrong data"))
    assert outcomes_of([ident], workspace=cast.workspace) == {ident: Outcomes()}
    approve(cast, ident)
    (row,) = outcomes_of([ident], workspace=cast.workspace)[ident].rows
    assert (row.relation, row.activity) == ("undo", done)


def test_what_came_of_an_approved_fork_are_the_effects_that_it_made(
    cast: Cast, agent: UUID
) -> None:
    demand(cast, "operation == 'fork'")
    thread, manager = paused(cast, agent), cast.actor("manager")
    head = threads.thread(thread, workspace=cast.workspace).head
    ident = second_request(lambda: fork_thread(manager, thread, head, {"goal": "trains"}, "Fork"))
    approve(cast, ident, "second_manager")
    result = queries_policies.carried_out(ident)
    assert result is not None
    fork = UUID(result[1].rpartition(" ")[2].rstrip("."))
    assert outcomes_of([ident], workspace=cast.workspace) == {ident: Outcomes()}
    done = scene.effect(scene.lease(fork))
    came_of = outcomes_of([ident], workspace=cast.workspace)[ident]
    assert [(o.relation, o.activity, o.thread) for o in came_of.rows] == [("fork", done, fork)]
    assert came_of.complete


def test_an_answer_about_an_unknown_effect_can_need_two(cast: Cast, agent: UUID) -> None:
    demand(cast, "operation == 'retry' && tool == 'settle' && args.verdict == 'not_happened'")
    thread, effect = scene.asking(cast.workspace, agent)
    operator = cast.actor("operator")
    ident = second_request(
        lambda: settle(operator, thread, effect, "not_happened", reason="looked")
    )
    assert threads.thread(thread, workspace=cast.workspace).status == Status.ATTENTION
    approve(cast, ident)
    assert queries_policies.carried_out(ident) == ("done", "Done.")
    assert threads.thread(thread, workspace=cast.workspace).status == Status.QUEUED


@pytest.mark.parametrize("name", ["retry", "skip"])
def test_a_declared_action_is_carried_out_as_it_was_asked_by_who_still_may(
    cast: Cast, agent: UUID, name: str
) -> None:
    demand(cast, f"operation == '{name}'")
    operator = cast.actor("operator")
    first, second = (scene.start(cast.workspace, agent) for _ in range(2))
    for thread in (first, second):
        store.leave(scene.lease(thread), EventKind.THREAD_FAILED, reason="no such service")
    before = threads.thread(first, workspace=cast.workspace)
    skipped = {"node": before.next_nodes[0], "reason": "not needed"}
    values = skipped if name == "skip" else {}
    action: Action[Any, Any] = {"retry": RETRY, "skip": SKIP}[name]
    wanted = read(action.takes, values)
    idents = [second_request(partial(action.run, operator, wanted, t)) for t in (first, second)]
    row = request_of(cast, idents[0])
    assert (row.kind, row.tool, row.status) == ("operation", name, "pending")
    assert row.args["arguments"] == {**values, "expected_version": before.version}
    assert threads.thread(first, workspace=cast.workspace).status == Status.FAILED
    approve(cast, idents[0])
    assert queries_policies.carried_out(idents[0]) == ("done", "Done.")
    assert threads.thread(first, workspace=cast.workspace).status == Status.QUEUED
    assert {str(event) for event in action.events} & {*kinds(first)}
    store.withdraw(cast.workspace, operator.user_id, "operator", actor="user:0")
    approve(cast, idents[1])
    outcome = queries_policies.carried_out(idents[1])
    assert outcome is not None
    assert outcome[0] == "failed"
    assert threads.thread(second, workspace=cast.workspace).status == Status.FAILED


def test_nobody_is_asked_for_what_is_not_possible(cast: Cast, agent: UUID) -> None:
    demand(cast, "operation != ''")
    thread, operator = paused(cast, agent), cast.actor("operator")
    before = threads.thread(thread, workspace=cast.workspace)
    with pytest.raises(Invalid):
        edit(operator, thread, {"goal": 7}, "because")
    with pytest.raises(Stale):
        edit(operator, thread, {"goal": "fine"}, "because", before.version + 5)
    assert queries.for_thread(thread) == []
    assert threads.thread(thread, workspace=cast.workspace) == before


def test_rights_lost_meanwhile_let_nothing_happen(cast: Cast, agent: UUID) -> None:
    demand(cast, "operation == 'edit'")
    thread, operator = paused(cast, agent), cast.actor("operator")
    head = threads.thread(thread, workspace=cast.workspace).head
    ident = second_request(lambda: edit(operator, thread, {"goal": "other"}, "because"))
    store.withdraw(cast.workspace, operator.user_id, "operator", actor="user:0")
    approve(cast, ident)
    result = queries_policies.carried_out(ident)
    assert result is not None
    assert result[0] == "failed"
    assert threads.thread(thread, workspace=cast.workspace).head == head


def test_allow_lets_it_happen_and_other_workspaces_are_not_asked(cast: Cast, agent: UUID) -> None:
    demand(cast, "operation == 'fork'", action="allow")
    policies.make(cast.elsewhere, Draft("All", "operation != ''"), actor="user:9")
    thread = paused(cast, agent)
    head = threads.thread(thread, workspace=cast.workspace).head
    assert fork_thread(cast.actor("operator"), thread, head)


def test_the_call_answers_202_once_with_the_request(cast: Cast, agent: UUID) -> None:
    demand(
        cast,
        "operation == 'fork'",
        terms=Terms(stages=(Seat(people=("second_manager",)),)),
        deadline=3600,
    )
    thread = paused(cast, agent)
    head = threads.thread(thread, workspace=cast.workspace).head
    client = cast.client("operator")

    def post(**headers: str) -> Any:
        return client.post(
            f"/api/v1/threads/{thread}/fork/",
            json.dumps({"checkpoint": str(head)}),
            content_type="application/json",
            headers=headers,
        )

    answer = post(**{"Idempotency-Key": "one"})
    assert answer.status_code == 202
    payload = answer.json()
    assert answer["Location"] == payload["url"] == f"/approvals/{payload['approval']}/"
    assert post(**{"Idempotency-Key": "one"}).json() == payload
    assert len(queries.for_thread(thread)) == 1
    row = queries.for_thread(thread)[0]
    assert row.deadline is not None
    assert client.get(f"/api/v1/approvals/{row.id}/").json()["verdicts"] == ["approve", "reject"]
    assert client.get(payload["url"]).status_code == 200


def test_the_page_leads_to_the_request(cast: Cast, agent: UUID) -> None:
    demand(cast, "operation == 'fork' || operation == 'edit' || operation == 'retry'")
    thread, client = paused(cast, agent), cast.client("operator")
    answer = client.post(f"/threads/{thread}/fork/", {"f-goal": "weather", "effects": "ask"})
    assert answer.status_code == 303
    assert answer["Location"] == f"/approvals/{queries.for_thread(thread)[0].id}/"
    page = client.get(answer["Location"])
    assert "needs a second person" in page.content.decode()
    failed = scene.lease(scene.start(cast.workspace, agent))
    scene.step(failed, leave_by=EventKind.THREAD_FAILED)
    answer = client.post(f"/threads/{failed.thread}/retry/", {})
    assert answer["Location"] == f"/approvals/{queries.for_thread(failed.thread)[0].id}/"
    assert threads.thread(failed.thread, workspace=cast.workspace).status == Status.FAILED


def test_the_request_says_what_became_of_it(cast: Cast, agent: UUID) -> None:
    demand(cast, "operation == 'fork' || operation == 'roll_back'")
    thread, operator = paused(cast, agent), cast.actor("operator")
    head = threads.thread(thread, workspace=cast.workspace).head
    first = threads.checkpoint_by_number(thread, 0).id
    good = second_request(lambda: fork_thread(operator, thread, head))
    client = cast.client("manager")
    row = request_of(cast, good)
    form = {"verdict": "approve", "confirmed": "1", "proposal_hash": row.standing_hash}
    answer = client.post(f"/approvals/{good}/decide/", form, follow=True)
    assert answer.status_code == 200
    message = queries_policies.carried_out(good)
    assert message is not None
    assert message[1].rstrip(".").rpartition(" ")[2] in answer.content.decode()
    bad = second_request(lambda: roll_back(operator, thread, first, "wrong"))
    RESUME.run(operator, Resume(), thread)
    form["proposal_hash"] = request_of(cast, bad).standing_hash
    page = client.post(f"/approvals/{bad}/decide/", form, follow=True).content.decode()
    assert "Not done: " in page
    assert proof.verify(thread).intact


@pytest.mark.requirement("E11")
@pytest.mark.parametrize(
    "change",
    [
        "UPDATE gp_carried_out SET outcome = 'failed' RETURNING 1",
        "UPDATE gp_carried_out SET said = said || 'x' RETURNING 1",
        "UPDATE gp_carried_out SET approval_id = gen_random_uuid() RETURNING 1",
        "DELETE FROM gp_carried_out RETURNING 1",
    ],
)
def test_what_became_of_an_operation_is_compared_with_the_log(
    cast: Cast, agent: UUID, change: str
) -> None:
    demand(cast, "operation == 'fork'")
    thread, operator = paused(cast, agent), cast.actor("operator")
    head = threads.thread(thread, workspace=cast.workspace).head
    request = second_request(lambda: fork_thread(operator, thread, head))
    seen = request_of(cast, request).standing_hash
    form = {"verdict": "approve", "confirmed": "1", "proposal_hash": seen}
    cast.client("manager").post(f"/approvals/{request}/decide/", form)
    assert proof.verify(thread).intact
    with transaction.atomic(), connection.cursor() as cursor:
        # Somebody with all rights, who wants the same operation once more.
        cursor.execute("SET LOCAL session_replication_role = replica")
        cursor.execute(change)
        assert cursor.fetchall()
        assert "the outcomes of approved operations" in proof.verify(thread).what
        transaction.set_rollback(True)


def test_whoever_asked_may_not_approve_and_the_try_is_logged(cast: Cast, agent: UUID) -> None:
    store.grant(cast.workspace, cast.users["operator"].pk, "reviewer", actor="user:0")
    demand(cast, "operation == 'edit'")
    thread, operator = paused(cast, agent), cast.actor("operator")
    ident = second_request(lambda: edit(operator, thread, {"goal": "other"}, "because"))
    with pytest.raises(ActionError):
        approve(cast, ident, "operator")
    assert request_of(cast, ident).status == "pending"
    assert kinds(thread).count("decision.refused") == 1
    assert threads.state_at(thread, threads.thread(thread, workspace=cast.workspace).head) != {}
    approve(cast, ident)
    assert queries_policies.carried_out(ident) == ("done", "Done.")


def test_two_stages_carry_out_with_the_last_vote(cast: Cast, agent: UUID) -> None:
    demand(cast, "operation == 'edit'", terms=Terms(stages=(Seat(count=2),)))
    thread, operator = paused(cast, agent), cast.actor("operator")
    ident = second_request(lambda: edit(operator, thread, {"goal": "other"}, "because"))
    approve(cast, ident)
    assert request_of(cast, ident).status == "pending"
    assert queries_policies.carried_out(ident) is None
    approve(cast, ident, "second_manager")
    assert queries_policies.carried_out(ident) == ("done", "Done.")
    assert proof.verify(thread).intact


def test_a_fork_under_other_code_asks_too(cast: Cast) -> None:
    demand(cast, "operation == 'fork'")
    world = make_world(cast)
    ident = second_request(lambda: choose_code(cast.actor("operator"), world.changed, "fork"))
    assert request_of(cast, ident).tool == "choose_code"
    approve(cast, ident)
    result = queries_policies.carried_out(ident)
    assert result is not None
    assert result[0] == "done"
    assert choose_code(cast.actor("operator"), world.changed, "pin") == world.changed


def test_what_a_capsule_says_was_approved_is_not_carried_out(cast: Cast, agent: UUID) -> None:
    demand(cast, "operation == 'edit'")
    thread, operator = paused(cast, agent), cast.actor("operator")
    before = threads.thread(thread, workspace=cast.workspace)
    ident = second_request(lambda: edit(operator, thread, {"goal": "other"}, "new goal"))
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE gp_approval SET status = 'settled', outcome = 'approve', imported = true, "
            "due_seats = '{}', decided_at = clock_timestamp() WHERE id = %s",
            [ident],
        )
    assert second_person.carry_out(request_of(cast, ident), cast.actor("manager")) is None
    assert threads.thread(thread, workspace=cast.workspace).head == before.head


# ---- policies that block -------------------------------------------------------------------------


def blocked(act: Any) -> UUID:
    """The record of an operation that a policy refused."""
    with pytest.raises(BlockedByPolicy) as error:
        act()
    assert error.value.detail == "The policy “Two people” blocks it: goals are agreed."
    return UUID(error.value.facts["approval"])


def test_a_blocked_operation_is_refused_on_record_and_nobody_is_asked(
    cast: Cast, agent: UUID
) -> None:
    made = demand(cast, "operation == 'edit'", action="block", note="goals are agreed")
    thread, operator = paused(cast, agent), cast.actor("operator")
    before = threads.thread(thread, workspace=cast.workspace).head
    ident = blocked(lambda: edit(operator, thread, {"goal": "other"}, "new goal"))
    row = request_of(cast, ident)
    assert (row.kind, row.status, row.outcome) == ("operation", "settled", "reject")
    assert (row.policy_version, row.decided_by) == (made.label, f"policy:{made.label}")
    assert row.blocked
    assert threads.thread(thread, workspace=cast.workspace).head == before
    assert kinds(thread)[-2:] == ["approval.requested", "approval.decided"]
    assert queries_policies.carried_out(ident) is None
    assert second_person.carry_out(row, cast.actor("manager")) is None
    with connection.cursor() as cursor:
        cursor.execute("SELECT kind FROM gp_outbox WHERE approval_id = %s", (ident,))
        assert cursor.fetchall() == [("approval.decided",)]
    assert proof.verify(thread).intact


@pytest.mark.parametrize("keyed", [False, True])
def test_the_call_answers_403_and_its_record_stays(cast: Cast, agent: UUID, keyed: bool) -> None:
    demand(cast, "operation == 'edit'", action="block", note="goals are agreed")
    thread = paused(cast, agent)
    answer = cast.client("operator").post(
        f"/api/v1/threads/{thread}/edit/",
        {"changes": {"goal": "other"}, "reason": "new goal"},
        content_type="application/json",
        **({"HTTP_IDEMPOTENCY_KEY": "once"} if keyed else {}),
    )
    assert answer.status_code == 403
    body = answer.json()
    assert body["type"] == "urn:gatepost:problem:blocked-by-policy"
    assert body["detail"] == "The policy “Two people” blocks it: goals are agreed."
    assert request_of(cast, UUID(body["approval"])).blocked
    assert verify_thread(thread).intact


def test_the_page_says_which_policy_blocks_and_leads_to_the_record(cast: Cast, agent: UUID) -> None:
    demand(cast, "operation == 'roll_back'", action="block", note="goals are agreed")
    thread = paused(cast, agent)
    first = threads.checkpoint_by_number(thread, 0).id
    answer = cast.client("operator").post(
        f"/threads/{thread}/rollback/", {"checkpoint": str(first), "reason": "wrong"}
    )
    page = answer.content.decode()
    assert answer.status_code == 403
    assert "The policy “Two people” blocks it: goals are agreed." in page
    assert re.search(r'href="/approvals/[0-9a-f-]{36}/"', page)


def test_what_a_second_person_approves_after_a_policy_blocks_it_is_not_done(
    cast: Cast, agent: UUID
) -> None:
    demand(cast, "operation == 'edit'")
    thread, operator = paused(cast, agent), cast.actor("operator")
    head = threads.thread(thread, workspace=cast.workspace).head
    ident = second_request(lambda: edit(operator, thread, {"goal": "other"}, "new goal"))
    draft = Draft("Frozen", "operation == 'edit'", action="block")
    policies.make(cast.workspace, draft, actor="user:9")
    approve(cast, ident)
    assert threads.thread(thread, workspace=cast.workspace).head == head
    done = queries_policies.carried_out(ident)
    assert done == ("failed", "Not done: The policy “Frozen” blocks it.")
