"""Two at once: one operation is carried out once, one version is written once; counted."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from approvals import gates, queries
from approvals.policies import changes as policies
from approvals.policies import queries as queries_policies
from approvals.policies.drafts import Draft
from approvals.policies.queries import VersionRow
from approvals.queries import ApprovalRow
from checkpoints import queries as threads
from checkpoints.chain import verify_workspace
from checkpoints.errors import StaleVersion
from checkpoints.states import EventKind
from dashboard.errors import AlreadyDecided, NeedsSecondPerson
from dashboard.kit import second_person
from dashboard.threads.edit import edit
from dashboard.threads.fork import fork
from tests.support import decisions
from tests.support.cast import Cast, make_cast
from tests.unit.checkpoints.racing import outcomes, race
from tests.unit.dashboard import scene

pytestmark = pytest.mark.hazard
ROUNDS = 60


@pytest.fixture
def cast(real_db: str) -> Cast:
    return make_cast()


def open_request(cast: Cast, agent: UUID) -> ApprovalRow:
    """A request to edit a paused thread."""
    work = scene.lease(scene.start(cast.workspace, agent))
    scene.step(work, report="draft", leave_by=EventKind.THREAD_PAUSED)
    with pytest.raises(NeedsSecondPerson) as error:
        edit(cast.actor("operator"), work.thread, {"goal": "other"}, "because")
    return queries.approval(UUID(error.value.facts["approval"]), workspace=cast.workspace)


@pytest.mark.slow
def test_of_two_approvals_at_once_one_carries_the_operation_out(cast: Cast) -> None:
    policies.make(cast.workspace, Draft("Two", "operation == 'edit'"), actor="user:9")
    agent = scene.make_agent()
    results = [open_request(cast, agent) for _ in range(ROUNDS)]
    one, other = cast.actor("manager"), cast.actor("second_manager")

    def approve(who: Any, n: int) -> ApprovalRow:
        return decisions.decide(who, results[n].id, "approve", results[n].standing_hash)

    answers = race(ROUNDS, lambda n: approve(one, n), lambda n: approve(other, n))
    won = outcomes(answers, AlreadyDecided)
    assert sum(won) == ROUNDS
    assert min(won) > 0, won
    for row in results:
        assert queries_policies.carried_out(row.id) == ("done", "Done.")
        kinds = [str(e.kind) for e in threads.events_after(row.thread, 0, limit=100)]
        assert kinds.count("state.edited") == kinds.count("operation.done") == 1


@pytest.mark.slow
def test_carrying_out_again_and_again_does_it_once(cast: Cast) -> None:
    """Whatever calls it: one row per approval stands between them."""
    policies.make(cast.workspace, Draft("Two", "operation == 'fork'"), actor="user:9")
    work = scene.lease(scene.start(cast.workspace, scene.make_agent()))
    scene.step(work, leave_by=EventKind.THREAD_PAUSED)
    head = threads.thread(work.thread, workspace=cast.workspace).head
    manager = cast.actor("manager")
    settled = []
    for _ in range(20):
        with pytest.raises(NeedsSecondPerson) as error:
            fork(cast.actor("operator"), work.thread, head)
        row = queries.approval(UUID(error.value.facts["approval"]), workspace=cast.workspace)
        who = gates.Reviewer(manager.id, manager.name, user="manager")
        settled.append(
            gates.decide(
                row.id,
                workspace=cast.workspace,
                reviewer=who,
                verdict="approve",
                proposal_hash=row.standing_hash,
            )
        )
    before = len(threads.threads(workspace=cast.workspace, limit=200).rows)
    answers = race(
        20,
        lambda n: second_person.carry_out(settled[n], manager),
        lambda n: second_person.carry_out(settled[n], manager),
    )
    assert all(sorted(map(str, pair)) == ["None", "True"] for pair in answers), answers
    after = len(threads.threads(workspace=cast.workspace, limit=200).rows)
    assert after - before == 20


@pytest.mark.slow
def test_of_two_admins_at_once_one_is_told_to_look_again(cast: Cast) -> None:
    made = [
        policies.make(cast.workspace, Draft(f"P{n}", "true"), actor="user:9") for n in range(ROUNDS)
    ]

    def change(who: str, n: int) -> VersionRow:
        return policies.change(
            made[n].policy,
            Draft(f"P{n}", f"tool == '{who}'"),
            workspace=cast.workspace,
            seen=1,
            actor=who,
        )

    answers = race(ROUNDS, lambda n: change("user:1", n), lambda n: change("user:2", n))
    assert sum(outcomes(answers, StaleVersion)) == ROUNDS
    for row in made:
        versions = queries_policies.versions(row.policy, workspace=cast.workspace)
        assert [v.number for v in versions] == [2, 1]
    assert verify_workspace(cast.workspace).intact
