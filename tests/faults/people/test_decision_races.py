"""One outcome and one execution per request, whoever asks together; counted, through HTTP.

Two web processes, real logins, a real worker. What was answered is compared with what is recorded,
and that with the lines that the tool left in its folder.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from uuid import UUID

import httpx
import pytest
from django.contrib.auth import get_user_model

from checkpoints import store
from tests.faults.bench import Case, Field, Worker, ask, wait_until
from tests.faults.web import Person, Web, people

from .deciding import all_are, events, meet, path_of, type_of, verdict_body

pytestmark = pytest.mark.hazard
CROWD, CROWDED = 20, 50  # reviewers at one request, requests
TOGETHER = 0.9  # of the rounds in which both truly met; a race that never meets proves nothing


@pytest.fixture(scope="module")
def webs(ground: Path) -> Iterator[tuple[Web, Web]]:
    """Two web processes, as a fleet has them."""
    folders = [ground / name for name in ("web-1", "web-2")]
    for folder in folders:
        folder.mkdir(exist_ok=True)
    started = [Web(folder) for folder in folders]
    try:
        first, second = (web.wait_ready() for web in started)
        yield first, second
    finally:
        for web in started:
            web.kill()


def verified(field: Field, cases: list[Case]) -> None:
    """Of so many threads every tenth is looked at closely when the test is over."""
    field.cases[:] = cases[::10]


@contextmanager
def at_both(
    webs: tuple[Web, Web], workspace: UUID, role: str, names: list[str]
) -> Iterator[list[Person]]:
    """People of one role, half of them at each web process."""
    with ExitStack() as stack:
        half = (len(names) + 1) // 2
        results = []
        for web, some in zip(webs, (names[:half], names[half:]), strict=True):
            results += stack.enter_context(people(web, workspace, role, *some))
        yield results


def executed(case: Case) -> int:
    """How often the tool was called."""
    return len(case.calls("parcel"))


# --- F16 ------------------------------------------------------------------------------------------


def test_of_twenty_reviewers_exactly_one_decides(
    field: Field, worker: Worker, webs: tuple[Web, Web]
) -> None:
    cases = [field.play("ask parcel") for _ in range(CROWDED)]
    all_are(cases, "waiting")
    verified(field, cases)
    outcomes: dict[UUID, str] = {}
    won = Counter[str]()
    names = [f"crowd-{number}" for number in range(CROWD)]
    with (
        at_both(webs, field.workspace, "reviewer", names) as crowd,
        ThreadPoolExecutor(CROWD) as pool,
    ):
        for turn, case in enumerate(cases):
            seen = case.open()
            verdicts = ["approve" if (i + turn) % 2 else "reject" for i in range(CROWD)]
            meeting = meet(
                pool,
                [
                    partial(person.post, path_of(seen), verdict_body(seen, verdict))
                    for person, verdict in zip(crowd, verdicts, strict=True)
                ],
            )
            assert sorted(meeting.codes) == [200, *[409] * (CROWD - 1)], meeting.summary
            winner = meeting.codes.index(200)
            name, outcome = crowd[winner].name, verdicts[winner]
            for answer in meeting.answers:
                if answer.status_code == 409:
                    # Each of the others learns what was recorded, and by whom.
                    assert type_of(answer) == "already-decided"
                    lost = answer.json()["approval"]
                    assert (lost["outcome"], lost["decided_by_name"]) == (outcome, name)
                    assert name in answer.json()["detail"]
            outcomes[case.id] = outcome
            won[name] += 1
    assert won.total() == CROWDED
    assert len(won) > 3, "always the same few: they did not meet"
    all_are(cases, "succeeded")
    assert Counter((outcomes[case.id], executed(case)) for case in cases) == {
        key: n
        for key, n in {
            ("approve", 1): Counter(outcomes.values())["approve"],
            ("reject", 0): Counter(outcomes.values())["reject"],
        }.items()
        if n
    }
    assert set(events(cases, "approval.decided").values()) == {1}
    assert ask(
        "SELECT count(*), count(DISTINCT approval_id) FROM gp_decision d JOIN gp_approval a "
        "ON a.id = d.approval_id WHERE a.thread_id = ANY(%s)",
        [case.id for case in cases],
    ) == [(CROWDED, CROWDED)]


# --- approve against reject -----------------------------------------------------------------------


def test_of_approve_and_reject_one_stands(
    field: Field, worker: Worker, webs: tuple[Web, Web], rounds: int
) -> None:
    cases = [field.play("ask parcel") for _ in range(rounds)]
    all_are(cases, "waiting")
    verified(field, cases)
    outcomes: dict[UUID, str] = {}
    met = 0
    with (
        at_both(webs, field.workspace, "reviewer", ["yes", "no"]) as (yes, no),
        ThreadPoolExecutor(2) as pool,
    ):
        for case in cases:
            seen = case.open()
            meeting = meet(
                pool,
                (
                    partial(yes.post, path_of(seen), verdict_body(seen)),
                    partial(no.post, path_of(seen), verdict_body(seen, "reject")),
                ),
            )
            assert sorted(meeting.codes) == [200, 409], meeting.summary
            outcomes[case.id] = "approve" if meeting.codes[0] == 200 else "reject"
            lost = meeting.answers[meeting.codes.index(409)].json()["approval"]
            assert lost["outcome"] == outcomes[case.id]
            met += meeting.met
    assert met > rounds * TOGETHER
    all_are(cases, "succeeded")
    for case in cases:
        assert executed(case) == (outcomes[case.id] == "approve")


# --- approve against an edit of the proposal ------------------------------------------------------


def test_of_an_edited_proposal_and_an_approval_one_stands(
    field: Field, worker: Worker, webs: tuple[Web, Web], rounds: int
) -> None:
    """What happens are exactly the arguments of the decision that stands, never the other ones."""
    cases = [field.play("ask parcel") for _ in range(rounds)]
    all_are(cases, "waiting")
    verified(field, cases)
    outcomes: dict[UUID, str] = {}
    met = 0
    with (
        at_both(webs, field.workspace, "reviewer", ["takes", "mends"]) as (takes, mends),
        ThreadPoolExecutor(2) as pool,
    ):
        for case in cases:
            seen = case.open()
            other = verdict_body(seen, "edit", args={**seen.args, "name": "letter"})
            meeting = meet(
                pool,
                (
                    partial(takes.post, path_of(seen), verdict_body(seen)),
                    partial(mends.post, path_of(seen), other),
                ),
            )
            assert sorted(meeting.codes) == [200, 409], meeting.summary
            outcomes[case.id] = "approve" if meeting.codes[0] == 200 else "edit"
            met += meeting.met
    assert met > rounds * TOGETHER
    all_are(cases, "succeeded")
    for case in cases:
        done = {name for name in ("parcel", "letter") for _ in case.calls(name)}
        assert done == {"parcel" if outcomes[case.id] == "approve" else "letter"}
        assert executed(case) + len(case.calls("letter")) == 1
    assert set(events(cases, "approval.decided").values()) == {1}


# --- approve against withdrawal -------------------------------------------------------------------


def test_of_approve_and_an_edit_of_the_state_one_stands(
    field: Field, worker: Worker, webs: tuple[Web, Web], rounds: int
) -> None:
    """An edit withdraws the request; what was approved of it must not happen any more."""
    cases = [field.play("ask parcel") for _ in range(rounds)]
    all_are(cases, "waiting")
    verified(field, cases)
    ends = Counter[str]()
    met = 0
    with (
        people(webs[0], field.workspace, "reviewer", "rita") as (rita,),
        people(webs[1], field.workspace, "operator", "oleg") as (oleg,),
        ThreadPoolExecutor(2) as pool,
    ):
        for case in cases:
            seen = case.open()
            edit = {"changes": {"notes": ["edited"]}, "reason": "another parcel"}
            meeting = meet(
                pool,
                (
                    partial(rita.post, path_of(seen), verdict_body(seen)),
                    partial(oleg.post, f"/threads/{case.id}/edit/", edit),
                ),
            )
            approved, edited = meeting.codes
            met += meeting.met
            row = ask("SELECT status, outcome FROM gp_approval WHERE id = %s", seen.id)[0]
            if approved == 200:
                # The edit came too late: the thread was on its way.
                assert edited in (409, 412), meeting.summary
                assert row == ("settled", "approve"), (row, meeting.summary)
                ends["approved"] += 1
            else:
                assert (approved, edited) == (409, 200), meeting.summary
                assert row == ("withdrawn", ""), row
                assert "withdrawn" in meeting.answers[0].json()["detail"]
                ends["withdrawn"] += 1
    assert ends.total() == rounds
    assert met > rounds * TOGETHER
    assert min(ends["approved"], ends["withdrawn"]) > 0, ends
    # Edited threads stay paused; the approved ones reach their end.
    all_are(cases, "succeeded", "paused")
    for case in cases:
        ((status, carried),) = ask(
            "SELECT status, (SELECT count(*) FROM gp_activity WHERE approval_id = a.id) "
            "FROM gp_approval a WHERE thread_id = %s",
            case.id,
        )
        wanted = 1 if status == "settled" else 0
        assert (executed(case), carried) == (wanted, wanted), status


# --- approve against a change of rights -----------------------------------------------------------


def test_of_approve_and_a_withdrawn_right_no_stranger_decides(
    field: Field, worker: Worker, webs: tuple[Web, Web], rounds: int
) -> None:
    """An admin takes the role away in the admin site while its owner approves."""
    batch = 20
    cases = [field.play("ask parcel") for _ in range(rounds)]
    all_are(cases, "waiting")
    verified(field, cases)
    ends = Counter[str]()
    met = 0
    names = [f"leaving-{number}" for number in range(batch)]
    with (
        at_both(webs, field.workspace, "reviewer", names) as leaving,
        people(webs[1], field.workspace, "admin", "ada", "anna") as (ada, _),
        ThreadPoolExecutor(2) as pool,
    ):
        ids = dict(
            get_user_model().objects.filter(username__in=names).values_list("username", "pk")
        )
        for begun in range(0, rounds, batch):
            some = cases[begun : begun + batch]
            for number, (person, case) in enumerate(zip(leaving, some, strict=True)):
                seen = case.open()
                meeting = meet(
                    pool,
                    (
                        partial(person.post, path_of(seen), verdict_body(seen)),
                        partial(withdraw, ada, role_of(ids[person.name])),
                    ),
                    # A form of the admin site takes longer than a decision.
                    first_waits=number % 3 * 0.003,
                )
                met += meeting.met
                decided, withdrawn = meeting.codes
                assert withdrawn == 302, meeting.summary
                assert decided in (200, 403), meeting.summary
                ends[str(decided)] += 1
                # From now on nothing of theirs is taken, at once and at both web processes.
                late = person.post(path_of(seen), verdict_body(seen))
                assert late.status_code == 403, late.text
                if decided == 403:
                    row = case.open()
                    assert (row.status, row.decided_by) == ("pending", "")
            rest(some)
            for name in names:
                store.grant(field.workspace, ids[name], "reviewer", actor="user:0")
    assert ends.total() == rounds
    assert met > rounds * TOGETHER
    assert min(ends["200"], ends["403"]) > 0, ends
    for case in cases:
        done = executed(case)
        decided = ask(
            "SELECT count(*) FROM gp_approval WHERE thread_id = %s AND outcome = 'approve'", case.id
        )[0][0]
        # Approved and carried out once; or approved, found void by the worker and asked again.
        assert done <= decided <= 1, (done, decided)
        if not done:
            assert case.open().status == "pending"


def role_of(user: int) -> int:
    """The row of a person's role."""
    (row,) = ask("SELECT id FROM gp_membership WHERE user_id = %s AND role = 'reviewer'", user)
    return int(row[0])


def withdraw(admin: Person, role: int) -> httpx.Response:
    """Take the role away, by the form of the admin site."""
    return admin.http.post(
        f"/admin/checkpoints/membership/{role}/delete/",
        data={"post": "yes", "csrfmiddlewaretoken": admin.http.headers["X-CSRFToken"]},
    )


def rest(cases: list[Case]) -> None:
    """Wait until nothing of these threads is on its way."""
    wait_until(
        lambda: (
            ask(
                "SELECT count(*) FROM gp_thread t WHERE id = ANY(%s) AND NOT (status = 'succeeded' "
                "OR (status = 'waiting' AND EXISTS (SELECT 1 FROM gp_approval a "
                "WHERE a.thread_id = t.id AND a.status = 'pending')))",
                [case.id for case in cases],
            )
            == [(0,)]
        ),
        seconds=30,
        what="threads at rest",
    )


# --- F17 ------------------------------------------------------------------------------------------


def test_what_was_replaced_is_not_approved(
    field: Field, worker: Worker, webs: tuple[Web, Web], rounds: int
) -> None:
    """The page was opened, the state was edited, the agent asked anew, then comes the approval."""
    cases = [field.play("ask parcel") for _ in range(rounds)]
    all_are(cases, "waiting")
    verified(field, cases)
    answers = Counter[str]()
    with (
        people(webs[0], field.workspace, "reviewer", "rosa") as (rosa,),
        people(webs[1], field.workspace, "operator", "olaf") as (olaf,),
    ):
        seen = {case.id: case.open() for case in cases}
        edit = {"changes": {"script": [[["ask", "letter"]]]}, "reason": "re-planned"}
        for case in cases:
            done = olaf.post(f"/threads/{case.id}/edit/", edit)
            assert done.status_code == 200, done.text
            assert olaf.post(f"/threads/{case.id}/resume/", {}).status_code == 200
        wait_until(
            lambda: (
                ask(
                    "SELECT count(*) FROM gp_approval WHERE thread_id = ANY(%s) "
                    "AND status = 'pending'",
                    [case.id for case in cases],
                )
                == [(rounds,)]
            ),
            seconds=60,
            what="the requests that take their place",
        )
        for case in cases:
            old, new = seen[case.id], case.open()
            assert old.id != new.id
            assert old.proposal_hash != new.proposal_hash
            gone = rosa.post(path_of(old), verdict_body(old))
            stale = rosa.post(path_of(new), verdict_body(old))
            assert (gone.status_code, stale.status_code) == (409, 409), (gone.text, stale.text)
            assert "withdrawn" in gone.json()["detail"]
            assert "changed since you opened it" in stale.json()["detail"]
            answers[type_of(gone)] += 1
            answers[type_of(stale)] += 1
        assert answers == {"already-decided": rounds, "proposal-changed": rounds}
        all_are(cases, "waiting")
        assert sum(len(case.calls(name)) for case in cases for name in ("parcel", "letter")) == 0
        assert not events(cases, "approval.decided")
        # What is there now can be approved.
        last = cases[-1].open()
        assert rosa.post(path_of(last), verdict_body(last)).status_code == 200
    cases[-1].wait_status("succeeded")
    assert len(cases[-1].calls("letter")) == 1
