"""Boxes of the inbox: who finds what where, in which order, and at what cost among 100,000."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from functools import partial
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.db import DatabaseError, IntegrityError, connection, transaction

from approvals import gates
from approvals.inbox import boxes as inbox
from approvals.inbox import reviewers
from approvals.inbox import rows as inbox_rows
from approvals.inbox.boxes import Person, Wanted
from approvals.queries import ApprovalRow
from approvals.rules.terms import Seat, Terms
from checkpoints.errors import InvalidValue
from checkpoints.postgres.plans import planned_for_this
from checkpoints.records import Position
from tests.unit.checkpoints.builders import drive, make_thread, make_workspace, one, rows
from tests.unit.checkpoints.queries.test_state_plan import nodes

pytestmark = pytest.mark.django_db

ADA = Person("user:7", "ada", ("finance",))
BEN = Person("user:8", "ben", ())


@pytest.fixture
def workspace() -> UUID:
    return make_workspace()


def ask(workspace: UUID, title: str = "Publish?", **more: Any) -> ApprovalRow:
    """A request of a thread of its own."""
    work = drive(make_thread(workspace=workspace), 1).work
    values = {"kind": "gate", "tool": "publish", "args": {}, "title": title, "risk": "low"} | more
    position = Position(work.branch, work.step + 1, "publish", 0, "publish#0")
    assert gates.request(work, [gates.Proposal(position, **values)])
    from approvals import queries

    return queries.for_thread(work.thread)[0]


def decide(
    row: ApprovalRow, by: Person = ADA, verdict: str = "approve", **more: Any
) -> ApprovalRow:
    reviewer = gates.Reviewer(by.id, by.user, by.user, by.teams)
    return gates.decide(
        row.id, workspace=row.workspace, reviewer=reviewer, verdict=verdict,
        proposal_hash=row.standing_hash, comment="no" if verdict == "reject" else "", **more,
    )  # fmt: skip


def titles(wanted: Wanted, cursor: str = "") -> list[str]:
    return [e.first.title for e in inbox.page(wanted, cursor=cursor).entries]


# --- boxes ------------------------------------------------------------------------------------


def test_mine_is_what_i_may_decide_and_my_team_what_names_my_team(workspace: UUID) -> None:
    seats = {
        "anybody": None,
        "ada": Terms(stages=(Seat(people=("ada",)),)),
        "ben": Terms(stages=(Seat(people=("ben",)),)),
        "finance": Terms(stages=(Seat(teams=("finance",)),)),
        "legal, then ada": Terms(stages=(Seat(teams=("legal",)), Seat(people=("ada",)))),
        "finance, barred": Terms(stages=(Seat(teams=("finance",)),), barred=("user:7",)),
    }
    for title, terms in seats.items():
        ask(workspace, title, terms=terms)
    ask(make_workspace(), "elsewhere")

    def box(name: str, person: Person) -> list[str]:
        return titles(Wanted(workspace, name, "age", person))

    assert box("mine", ADA) == ["anybody", "ada", "finance"]
    assert box("team", ADA) == ["finance", "finance, barred"]
    assert box("mine", BEN) == ["anybody", "ben"]
    assert box("team", BEN) == []
    assert box("open", BEN) == list(seats)
    assert titles(Wanted(workspace, "mine")) == []  # nobody's
    assert inbox.counts(workspace, ADA) == {"mine": 3, "team": 2, "due": 0, "high": 0, "open": 6}
    assert inbox.counts(workspace, None) == {"due": 0, "high": 0, "open": 6}


def test_several_stages_come_to_each_in_turn(workspace: UUID) -> None:
    legal = Person("user:9", "leo", ("legal",))
    terms = Terms(stages=(Seat(teams=("legal",), count=2), Seat(people=("ada",))))
    row = ask(workspace, terms=terms)
    turns = []
    for by in (legal, Person("user:10", "lia", ("legal",))):
        turns.append([bool(titles(Wanted(workspace, "mine", person=p))) for p in (by, ADA, BEN)])
        decide(row, by)
    turns.append([bool(titles(Wanted(workspace, "mine", person=p))) for p in (legal, ADA, BEN)])
    assert turns == [[True, False, False], [True, False, False], [False, True, False]]


def test_who_has_voted_for_what_stands_is_done_with_it_until_it_changes(workspace: UUID) -> None:
    row = ask(workspace, terms=Terms(stages=(Seat(count=2),)))
    mine = Wanted(workspace, "mine", person=ADA)
    row = decide(row, ADA)
    assert inbox.page(mine).entries == ()
    [entry] = inbox.page(Wanted(workspace)).entries
    assert (entry.first.votes, entry.first.needed) == (1, 2)
    row = decide(row, BEN, "edit", args={"sum": 7})
    [entry] = inbox.page(mine).entries
    assert (entry.first.votes, entry.first.edited) == (1, True)
    assert entry.first.standing_hash == row.standing_hash
    assert titles(Wanted(workspace, "mine", person=BEN)) == []


def test_a_vote_that_was_taken_back_counts_no_more(workspace: UUID) -> None:
    row = ask(workspace, terms=Terms(stages=(Seat(count=2),), undo_window=60))
    decide(row, BEN)
    decide(row, ADA)
    gates.take_back(row.id, workspace=workspace, reviewer=gates.Reviewer(ADA.id, "ada", "ada"))
    [entry] = inbox.page(Wanted(workspace, "mine", person=ADA)).entries
    assert entry.first.votes == 1
    assert titles(Wanted(workspace, "mine", person=BEN)) == []


def test_an_escalation_lets_others_find_it(workspace: UUID) -> None:
    terms = Terms(
        stages=(Seat(people=("ada",)),),
        on_expiry="escalate",
        escalate_to=Seat(people=("ben",)),
        escalate_for=600,
    )
    ask(workspace, terms=terms, expires_in=0.0)
    mine = Wanted(workspace, "mine", person=BEN)
    assert titles(mine) == []
    assert gates.expire_due() == 1
    assert titles(mine) == ["Publish?"]
    assert titles(Wanted(workspace, "mine", person=ADA)) == ["Publish?"]


def test_due_high_and_done(workspace: UUID) -> None:
    ask(workspace, "soon", expires_in=600.0)
    ask(workspace, "later", expires_in=7_200.0)
    ask(workspace, "never", risk="high")
    decide(ask(workspace, "was"))
    assert titles(Wanted(workspace, "due")) == ["soon"]
    assert titles(Wanted(workspace, "high")) == ["never"]
    assert titles(Wanted(workspace, "done")) == ["was"]
    [entry] = inbox.page(Wanted(workspace, "done")).entries
    assert (entry.first.outcome, entry.first.decided_by_name) == ("approve", "ada")


@pytest.mark.parametrize(
    ("sort", "order"),
    [
        ("risk", ["high", "medium", "low", "low too"]),
        ("age", ["low", "high", "medium", "low too"]),
        ("deadline", ["medium", "low too", "low", "high"]),
    ],
)
def test_each_order_is_the_database_s(workspace: UUID, sort: str, order: list[str]) -> None:
    ask(workspace, "low", risk="low", expires_in=9_000.0)
    ask(workspace, "high", risk="high")
    ask(workspace, "medium", risk="medium", expires_in=60.0)
    ask(workspace, "low too", risk="low", expires_in=600.0)
    assert titles(Wanted(workspace, "open", sort)) == order
    result = inbox.in_order(Wanted(workspace, "open", sort))
    about = inbox_rows.rows(result, workspace=workspace)
    assert [about[ident].title for ident in result] == order


def test_equal_requests_are_one_entry_that_unfolds(workspace: UUID) -> None:
    for n in range(3):
        ask(workspace, f"Refund order {9_000 + n}")
        ask(workspace, f"Greet town {n}", tool="greet")
    ask(workspace, "Refund order 7", risk="medium")
    page = inbox.page(Wanted(workspace, "open", "age"))
    assert [(e.first.title, e.total) for e in page.entries] == [
        ("Refund order 9000", 3), ("Greet town 0", 3), ("Refund order 7", 1),
    ]  # fmt: skip
    alike = Wanted(workspace, "open", "age", alike=page.entries[1].first.id)
    assert titles(alike) == ["Greet town 0", "Greet town 1", "Greet town 2"]
    # On the way through the box equal ones follow each other, too.
    order = inbox.in_order(Wanted(workspace, "open", "age"))
    about = inbox_rows.rows(order, workspace=workspace)
    assert [about[i].tool for i in order] == [*["publish"] * 3, *["greet"] * 3, "publish"]


def test_pages_have_no_gap_and_no_repetition(
    workspace: UUID, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inbox, "WINDOW", 5)
    made = [ask(workspace, f"Do {word}").title for word in "abcdefghijklm"]
    wanted, seen, cursor = Wanted(workspace, "open", "age"), [], ""
    for _ in range(20):
        page = inbox.page(wanted, cursor=cursor, limit=2)
        seen += [row.title for entry in page.entries for row in entry.rows]
        if not (cursor := page.next_cursor):
            break
    assert seen == made
    for bad in ("x", "x.y", str(uuid4())):
        with pytest.raises(InvalidValue, match="cursor"):
            inbox.page(wanted, cursor=bad)


def test_words_and_agents_narrow_a_box(workspace: UUID) -> None:
    ask(workspace, "Pay 100% now")
    ask(workspace, "Pay 1000 later")
    ((agent,),) = inbox.agents(workspace).values()
    assert titles(Wanted(workspace, q="100%")) == ["Pay 100% now"]
    assert len(titles(Wanted(workspace, q="pay", agent=agent))) == 2
    assert titles(Wanted(workspace, agent="other")) == []


@pytest.mark.parametrize(
    "terms",
    [
        *("null", "{}", "[]", '"x"', '{"stages": 3}', '{"stages": [{"people": "ada"}]}'),
        '{"stages": [{"people": ["ada"], "count": "many"}, {"people": [], "count": -1}]}',
    ],
)
def test_any_terms_can_be_stored(workspace: UUID, terms: str) -> None:
    """The indexes compute with what a capsule may bring; a row is never refused by them."""
    row = ask(workspace)
    rows("UPDATE gp_approval SET terms = %s::jsonb WHERE id = %s", (terms, row.id))
    assert titles(Wanted(workspace)) == ["Publish?"]
    assert set(inbox.counts(workspace, ADA)) == {"mine", "team", "due", "high", "open"}


# --- cost -------------------------------------------------------------------------------------

MANY = 100_000
FILL = """
INSERT INTO gp_approval ({columns}) SELECT {values} FROM gp_approval a, generate_series(1, {n}) n
WHERE a.id = '{one}'
"""
SPREAD = {
    "id": "gen_random_uuid()",
    "step": "1000 + n",
    "title": "CASE WHEN mod(n, 4) = 0 THEN 'Refund order ' || n "
    "ELSE 'Write to ' || md5(n::text) END",
    "risk": "(ARRAY['high', 'medium', 'low', 'low'])[1 + mod(n, 4)]",
    "requested_at": "now() - make_interval(secs => mod(n * 7, 100000))",
    "deadline": "CASE WHEN mod(n, 3) = 0 THEN now() + make_interval(secs => n) END",
    "terms": "CASE WHEN mod(n, 20000) = 0 THEN "
    "jsonb_set(a.terms, '{stages,0,people}', '[\"ada\"]') WHEN mod(n, 2) = 0 "
    "THEN jsonb_set(a.terms, '{stages,0,teams}', '[\"finance\"]') ELSE a.terms END",
    "due_seats": "CASE WHEN mod(n, 20000) = 0 THEN '{user:ada}' WHEN mod(n, 2) = 0 "
    "THEN '{team:finance}' ELSE a.due_seats END",
}


@pytest.fixture
def crowd(workspace: UUID) -> UUID:
    """100,000 open requests: half for finance, five for ada, the rest for nobody she is."""
    row = ask(workspace, terms=Terms(stages=(Seat(people=("zoe",)),)))
    columns = [
        name
        for (name,) in rows(
            "SELECT attname FROM pg_attribute WHERE attrelid = 'gp_approval'::regclass "
            "AND attnum > 0 AND NOT attisdropped"
        )
    ]
    quoted = ", ".join(f'"{name}"' for name in columns)
    values = ", ".join(SPREAD.get(name, f'a."{name}"') for name in columns)
    rows("SET LOCAL statement_timeout = 0")  # many indexes, and others compute beside us
    rows(FILL.format(columns=quoted, values=values, n=MANY, one=row.id))
    rows("ANALYZE gp_approval, gp_decision")
    return workspace


def read(look: Callable[[], Any]) -> tuple[float, list[str]]:
    """(rows of gp_approval that a look's statements read, the indexes they use)."""
    sent: list[tuple[str, Any]] = []

    def listen(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        sent.append((sql, params))
        return execute(sql, params, many, context)

    with connection.execute_wrapper(listen):
        look()
    total, used = 0.0, []
    for sql, params in sent:
        plan = one(f"EXPLAIN (ANALYZE, FORMAT JSON) {sql}", params)[0]["Plan"]
        for node in nodes(plan):
            if node.get("Relation Name") == "gp_approval":
                assert node["Node Type"] != "Seq Scan", sql
                removed = node.get("Rows Removed by Filter", 0)
                total += (node["Actual Rows"] + removed) * node["Actual Loops"]
            if "Index Name" in node:
                used.append(node["Index Name"])
    return total, used


@pytest.mark.nightly
def test_a_page_among_100_000_is_read_by_an_index(crowd: UUID) -> None:
    finance, ada = Person("user:9", "kim", ("finance",)), Person("user:7", "ada", ())
    plans = {
        ("open", "risk", None): "gp_approval_by_risk",
        ("open", "age", None): "gp_approval_open gp_approval_all",
        ("open", "deadline", None): "gp_approval_by_due",
        ("high", "risk", None): "gp_approval_by_risk",
        ("due", "deadline", None): "gp_approval_by_due",
        ("due", "risk", None): "gp_approval_by_due",  # a hundredth of all
        ("mine", "risk", ada): "gp_approval_by_turn",  # five among all
        ("mine", "risk", finance): "gp_approval_by_risk",  # half of all
        ("team", "deadline", finance): "gp_approval_by_due",
    }
    for (box, sort, person), index in plans.items():
        wanted = Wanted(crowd, box, sort, person)
        assert inbox.page(wanted).entries
        n, used = read(partial(inbox.page, wanted))
        assert n <= 4 * inbox.WINDOW, (box, sort, n, used)
        assert set(index.split()) & set(used), (box, sort, used)
    first = inbox.page(Wanted(crowd, "open", "risk"))
    assert sum(len(entry.rows) for entry in first.entries) <= inbox.ROWS
    assert first.next_cursor
    for who in (finance, ada, Person("user:8", "ben")):
        n, used = read(partial(inbox.counts, crowd, who))
        assert n <= 8 * inbox.COUNTED, (who, n, used)
        assert "gp_approval_by_due" in used
    counted = inbox.counts(crowd, ada)
    assert counted["mine"] == 5
    assert counted["open"] == inbox.COUNTED + 1  # there are more


def test_no_look_is_planned_for_anybody_else(workspace: UUID) -> None:
    """A kept plan knows nothing of how much waits for whom: after some looks it would be used."""
    ask(workspace, title="Pay 5?")
    for _ in range(12):
        assert titles(Wanted(workspace, "mine", person=ADA)) == ["Pay 5?"]
        assert inbox.counts(workspace, ADA)["mine"] == 1
    saved = [text for (text,) in rows("SELECT statement FROM pg_prepared_statements")]
    assert saved  # others are
    assert not [text for text in saved if "due_seats &&" in text]
    with pytest.raises(DatabaseError), transaction.atomic(), planned_for_this():
        rows("SELECT 1 / %s::integer", (0,))
    assert titles(Wanted(workspace)) == ["Pay 5?"]


# --- looks and reviewers ----------------------------------------------------------------------


def test_a_look_is_noted_once_and_kept(workspace: UUID) -> None:
    row = ask(workspace)
    assert gates.note_look(row.id, workspace=workspace, person="user:7")
    assert not gates.note_look(row.id, workspace=workspace, person="user:7")
    assert not gates.note_look(row.id, workspace=make_workspace(), person="user:8")
    for statement in (
        "UPDATE gp_approval_look SET at = now()",
        "DELETE FROM gp_approval_look",
        "TRUNCATE gp_approval_look",
    ):
        with pytest.raises(Exception, match=r"append-only|refuse"), transaction.atomic():
            rows(statement)
    decide(row)
    assert not gates.note_look(row.id, workspace=workspace, person="user:8")
    assert one("SELECT count(*) FROM gp_approval_look") == 1
    assert isinstance(one("SELECT at FROM gp_approval_look"), datetime)
    with pytest.raises(IntegrityError), transaction.atomic():
        rows("INSERT INTO gp_approval_look SELECT * FROM gp_approval_look")


def test_who_approves_unseen_is_worth_a_word(workspace: UUID) -> None:
    """Low risk may be approved from a list; high risk and several people need opening."""
    for _ in range(reviewers.STREAK):
        decide(ask(workspace, risk="low"))
    result = reviewers.habit(workspace, "user:7")
    assert result is not None
    assert (result.decided, result.counted, result.worth_a_word) == (5, 0, False)
    for n in range(reviewers.STREAK):
        decide(ask(workspace, risk="high"))
        result = reviewers.habit(workspace, "user:7")
        assert result is not None
        assert (result.counted, result.streak) == (n + 1, n + 1)
        assert result.worth_a_word == (n + 1 >= reviewers.STREAK)
    row = ask(workspace, risk="high")
    rows(
        "INSERT INTO gp_approval_look (workspace_id, approval_id, person, at) "
        "VALUES (%s, %s, 'user:7', clock_timestamp() - interval '40 seconds')",
        (workspace, row.id),
    )
    decide(row)
    result = reviewers.habit(workspace, "user:7")
    assert result is not None
    assert (result.streak, result.unopened, result.quick, result.worth_a_word) == (0, 5, 0, False)
    for _ in range(3):
        row = ask(workspace, risk="high")
        gates.note_look(row.id, workspace=workspace, person="user:7")
        decide(row)
    result = reviewers.habit(workspace, "user:7")
    assert result is not None
    assert result.quick == 3
    assert reviewers.habit(workspace, "user:8") is None
    assert [h.person for h in reviewers.habits(workspace)] == ["user:7"]
    assert reviewers.habits(make_workspace()) == []


def test_what_waits_for_whom(workspace: UUID) -> None:
    ask(workspace, terms=Terms(stages=(Seat(people=("ada",)), Seat(teams=("legal",)))))
    ask(workspace, terms=Terms(stages=(Seat(teams=("legal",)),)), expires_in=60.0)
    ask(workspace)
    results = {one.seat: (one.waiting, one.due) for one in reviewers.load(workspace)}
    assert results == {"team:legal": (1, 1), "user:ada": (1, 0), "*": (1, 0)}
