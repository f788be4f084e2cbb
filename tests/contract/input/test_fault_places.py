"""Where refusals say the fault is: a place of the very body that was sent.

`test_documented_bounds` and `test_generated` check it for each answer they get; here are faults
that no schema knows, since more than one value decides.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.contract.calls import example, send
from tests.contract.operations import operations
from tests.contract.world import World
from tests.contract.written import taken_back

from .bounds import put, stands_in

NOBODY = {"people": ["nobody"], "teams": [], "count": 1}
# (place in what a policy says, a value that is refused there, where it is found)
POLICY_FAULTS: tuple[tuple[tuple[str | int, ...], Any, str], ...] = (
    (("condition",), "tool ==", "condition"),
    (("condition",), "unknown == 1", "condition"),
    (("terms", "stages"), [{}, NOBODY], "terms.stages[1].people[0]"),
    (("terms", "stages"), [{"teams": ["none"]}], "terms.stages[0].teams[0]"),
    (("terms", "stages"), [{"people": ["manager"], "count": 2}], "terms.stages[0].count"),
    (("terms", "reminders"), [60.0, 30.0], "terms.reminders[1]"),
    (("terms", "on_expiry"), "escalate", "terms.escalate_to"),
    (("terms", "escalate_to"), NOBODY, "terms.escalate_to"),
)


@pytest.mark.slow
@pytest.mark.parametrize("preview", ["", "1"])
@pytest.mark.parametrize("fault", POLICY_FAULTS, ids=lambda fault: fault[2])
@pytest.mark.parametrize(
    ("name", "within"), [("policies_make", ()), ("policies_change", ("draft",))]
)
def test_a_policy(
    world: World, name: str, within: tuple[str, ...], fault: Any, preview: str
) -> None:
    operation, call = operations()[name], example(world, operations()[name])
    keys, value, path = fault
    body = put(put(call.body, (*within, "deadline"), 3_600.0), (*within, *keys), value)
    with taken_back():
        query = {"preview": preview} if preview else {}
        answer = send(world.cast.client("admin"), operation, call.but(body=body, query=query))
    assert answer.status_code == 422, answer.content
    assert answer.json()["path"].startswith(".".join(("$", *within, path.partition("[")[0])))
    for path in (answer.json()["path"], *(one["path"] for one in answer.json()["errors"])):
        assert stands_in(path, body), path


def test_one_verdict_of_many(world: World) -> None:
    operation = operations()["approvals_decide_many"]
    call = example(world, operation)
    body = put(call.body, (0, "comment"), "")
    with taken_back():
        answer = send(world.cast.client("manager"), operation, call.but(body=body))
    first = answer.json()["results"][0]
    assert (first["status"], first["problem"]["path"]) == (422, "$[0].comment")
    assert first["problem"]["errors"][0]["path"] == "$[0].comment"
