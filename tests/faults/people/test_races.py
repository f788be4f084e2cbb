"""Two people want different things of one thread at the same moment, time and again, by HTTP."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from uuid import UUID

import pytest

from checkpoints import store
from checkpoints.errors import ConcurrentModificationError, StaleVersion
from tests.faults.bench import Case, Field, Worker, ask, wait_until
from tests.faults.web import Web, people, race

pytestmark = pytest.mark.hazard


@pytest.fixture(scope="module")
def web(ground: Path) -> Iterator[Web]:
    started = Web(ground)
    try:
        yield started.wait_ready()
    finally:
        started.kill()


def all_are(cases: list[Case], *statuses: str) -> None:
    """Wait until every case has one of the statuses; one query for all of them."""
    wait_until(
        lambda: (
            ask(
                "SELECT count(*) FROM gp_thread WHERE id = ANY(%s) AND status = ANY(%s)",
                [case.id for case in cases],
                list(statuses),
            )
            == [(len(cases),)]
        ),
        seconds=60,
        what=lambda: Counter(str(case.row().status) for case in cases),
    )


def test_of_two_deciders_exactly_one_decides(
    field: Field, worker: Worker, web: Web, rounds: int
) -> None:
    cases = [field.play("ask parcel") for _ in range(rounds)]
    all_are(cases, "waiting")
    won, met = Counter[str](), 0
    outcomes: dict[UUID, str] = {}
    with (
        people(web, field.workspace, "reviewer", "mary", "paul") as (mary, paul),
        ThreadPoolExecutor(2) as pool,
    ):
        for case in cases:
            seen = case.open()
            path = f"/approvals/{seen.id}/decide/"
            bound = {"proposal_hash": seen.proposal_hash}
            turn = race(
                pool,
                partial(mary.post, path, {"verdict": "approve", "comment": "good", **bound}),
                partial(paul.post, path, {"verdict": "reject", "comment": "bad", **bound}),
            )
            assert sorted(turn.codes) == [200, 409], [a.text for a in turn.answers]
            name, outcome = [("mary", "approve"), ("paul", "reject")][turn.winner]
            lost = turn.answers[1 - turn.winner].json()
            # The loser learns what was recorded, and by whom.
            assert lost["type"] == "urn:gatepost:problem:already-decided"
            assert (lost["approval"]["outcome"], lost["approval"]["decided_by_name"]) == (
                outcome,
                name,
            )
            assert turn.answers[turn.winner].json()["outcome"] == outcome
            won[name] += 1
            met += turn.met
            outcomes[case.id] = outcome
    assert won.total() == rounds
    assert met > rounds * 0.9

    # What was recorded is what happened: approved ones were delivered once, others not at all.
    all_are(cases, "succeeded")
    ends = Counter((outcomes[case.id], len(case.calls("parcel"))) for case in cases)
    assert (ends["approve", 1], ends["reject", 0]) == (won["mary"], won["paul"])
    assert ask(
        "SELECT count(*), count(DISTINCT thread_id) FROM gp_event "
        "WHERE kind = 'approval.decided' AND thread_id = ANY(%s)",
        [case.id for case in cases],
    ) == [(rounds, rounds)]
    recorded = dict(
        ask(
            "SELECT verdict, count(*) FROM gp_decision d JOIN gp_approval a ON a.id = d.approval_id"
            " WHERE a.thread_id = ANY(%s) GROUP BY 1",
            [case.id for case in cases],
        )
    )
    assert recorded == {
        verdict: n for verdict, n in (("approve", won["mary"]), ("reject", won["paul"])) if n
    }


@pytest.mark.requirement("C26")
@pytest.mark.requirement("C28")
def test_of_two_edits_of_one_version_exactly_one_is_kept(
    field: Field, worker: Worker, web: Web, tmp_path: Path, rounds: int
) -> None:
    won, met = Counter[int](), 0
    with (
        people(web, field.workspace, "operator", "olga", "otto") as editors,
        ThreadPoolExecutor(2) as pool,
    ):
        olga, otto = editors
        born = olga.post(
            "/threads/",
            {"agent": "parcels", "input": {"folder": str(tmp_path)}, "pause_at": "pack"},
        )
        assert born.status_code == 201, born.text
        case = field.adopt(UUID(born.json()["id"]), tmp_path)
        case.wait_status("paused")
        tag = olga.get(f"/threads/{case.id}/").headers["ETag"]
        path = f"/threads/{case.id}/edit/"
        saved = []
        for number in range(rounds):
            turn = race(
                pool,
                *(
                    partial(
                        editor.post,
                        path,
                        {"changes": {"to": f"{mark}{number}"}, "reason": "mine"},
                        If_Match=tag,
                    )
                    for mark, editor in zip("AB", editors, strict=True)
                ),
            )
            assert sorted(turn.codes) == [200, 412], [a.text for a in turn.answers]
            lost = turn.answers[1 - turn.winner].json()
            assert lost["type"] == "urn:gatepost:problem:stale"
            assert "reload" in lost["detail"]
            tag = turn.answers[turn.winner].headers["ETag"]
            saved.append(f"{'AB'[turn.winner]}{number}")
            won[turn.winner] += 1
            met += turn.met

        # Whoever loses reloads and tries again.
        tag = otto.get(f"/threads/{case.id}/").headers["ETag"]
        again = otto.post(
            f"/threads/{case.id}/edit/", {"changes": {"to": "last"}, "reason": "x"}, If_Match=tag
        )
        assert again.status_code == 200, again.text
    assert won.total() == rounds
    assert met > rounds * 0.9
    assert case.kinds().count("state.edited") == rounds + 1
    written = ask(
        "SELECT delta -> 'set' ->> 'to' FROM gp_checkpoint WHERE thread_id = %s "
        "AND source = 'edit' ORDER BY number",
        case.id,
    )
    assert [value for (value,) in written] == [*saved, "last"]
    assert case.state()["to"] == "last"

    # The same below HTTP: zero rows of one guarded UPDATE raise it, and it says what to do.
    stale = case.row().version - 1
    with pytest.raises(StaleVersion, match="reload and retry") as raised:
        store.edit(
            case.id, changes={"to": "late"}, reason="x", actor="user:1", expected_version=stale
        )
    assert isinstance(raised.value, ConcurrentModificationError)
    assert case.state()["to"] == "last"
