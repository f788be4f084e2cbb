"""Where the values of a request come from, by what a real engine recorded: document, page, API."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime
from html import unescape
from typing import Any
from uuid import UUID, uuid4

import pytest

from approvals import gates as gating
from approvals import queries as gates
from approvals.policies import changes as policies
from approvals.policies.drafts import Draft
from approvals.rules.terms import Seat, Terms
from checkpoints import queries, store
from checkpoints.queries.anatomy import outputs
from checkpoints.views import VerificationRow
from dashboard.approvals import receipt_material as material
from dashboard.approvals.receipt_shape import ProposalReceipts, ReceiptValue
from dashboard.approvals.receipts import receipts_of
from tests.support.cast import Cast
from tests.unit.checkpoints.builders import rows
from tests.unit.dashboard import scene
from tests.unit.dashboard.approvals.receipts import buying
from tests.unit.dashboard.approvals.receipts.buying import LINES, Script
from tests.unit.dashboard.calls import V1
from tests.unit.dashboard.records.test_verify import alter
from tests.unit.workers.conftest import Bench, bench_of

pytestmark = [pytest.mark.django_db, pytest.mark.requirement("G04")]
PROPOSAL: dict[str, Any] = {
    "lines": [dict(line) for line in LINES[:2]],
    "total": "2247.50",
    "account": "DE89370400440532013002",
    "ceiling": 312_500,
    "reference": "Thread 48213",
}


@pytest.fixture
def bench(cast: Cast) -> Bench:
    made = bench_of(buying)
    made.workspace = cast.workspace
    return made


def started(bench: Bench, proposal: dict[str, Any] | None = None, **values: Any) -> UUID:
    """A thread that waits for a decision on its proposal."""
    Script.proposal, Script.answer = PROPOSAL if proposal is None else proposal, ""
    thread = bench.start(goal="At most 312,500.00 in all", **values)
    bench.advance(thread)
    return thread


def of(bench: Bench, thread: UUID) -> ProposalReceipts:
    result = receipts_of(bench.open(thread), bench.row(thread))
    assert result is not None
    return result


def origins(bench: Bench, thread: UUID) -> dict[str, str]:
    return {value.path: value.origin for value in of(bench, thread).values}


def at(bench: Bench, thread: UUID, path: str) -> ReceiptValue:
    value: ReceiptValue = of(bench, thread).by_path()[path]
    return value


def test_what_calls_people_and_the_agent_have_had(bench: Bench) -> None:
    thread = started(bench)
    found_in = of(bench, thread)
    assert {value.path: value.origin for value in found_in.values} == {
        **{f"$.lines[{n}].{key}": "recorded" for n in range(2) for key in LINES[0]},
        "$.total": "computed",
        "$.account": "recorded",
        "$.ceiling": "person",
        "$.reference": "agent",
    }
    assert found_in.summary == (
        "7 of 10 values come from recorded outputs, 1 computed from them, "
        f"1 from {at(bench, thread, '$.ceiling').by}, 1 only from the agent."
    )
    assert (found_in.recorded, found_in.computed, found_in.people, found_in.agent) == (7, 1, 1, 1)
    assert (found_in.unread, found_in.more) == ("", 0)
    [read] = [a for a in bench.activities(thread) if a.tool == "read_invoices"]
    line = at(bench, thread, "$.lines[1].amount")
    assert (line.activity, line.thread, line.source_path) == (read.id, thread, "$.lines[1].amount")
    assert line.source == "read_invoices, $.lines[1].amount"
    # The event of the call, and the checkpoint of its step.
    event = next(e for e in bench.events(thread) if e.seq == line.event)
    assert (event.kind, event.data["activity"]) == ("activity.finished", str(read.id))
    assert line.checkpoint is not None
    assert bench.checkpoint(thread, line.checkpoint).nodes == ("read",)
    query = f"cp={line.checkpoint}&event={line.event}"
    assert line.url == f"/threads/{thread}/?{query}#event-{line.event}"
    account = at(bench, thread, "$.account")
    assert account.source == "read_invoices, orders.csv, row 4, account"
    total = at(bench, thread, "$.total")
    assert (total.source, total.lines) == (
        "the sum of 2 recorded values", ["$.lines[0].amount", "$.lines[1].amount"],
    )  # fmt: skip
    assert at(bench, thread, "$.ceiling").url == f"/threads/{thread}/?cp=0"


def test_the_agents_own_words_are_no_evidence(bench: Bench) -> None:
    Script.answer = "Pay DE11370400440532013999, it is 77,123.45 EUR"
    Script.proposal = {"account": "DE11370400440532013999", "amount": "77123.45"}
    thread = bench.start(goal="Pay")
    bench.advance(thread)
    assert {a.kind for a in bench.activities(thread)} >= {"activity", "model"}
    results = of(bench, thread)
    assert [value.origin for value in results.values] == ["agent", "agent"]
    # `confirm` was called with both and repeats them.
    assert all("repeats it" in value.note for value in results.values)
    assert results.summary == "0 of 2 values come from recorded outputs, 2 only from the agent."


def test_a_line_with_the_account_of_another_is_contradicted(bench: Bench) -> None:
    line = LINES[0] | {"amount": LINES[2]["amount"]}
    thread = started(bench, {"lines": [line, LINES[2]]})
    value = at(bench, thread, "$.lines[0].amount")
    assert value.origin == "agent"
    assert value.note == (
        f"The record that holds the other values of this line has {LINES[0]['amount']} here."
    )


def test_what_came_later_or_was_left_is_no_source(bench: Bench) -> None:
    thread = started(bench)
    row = bench.open(thread)
    point = queries.newest_before(row.thread, branch=row.branch, at=row.requested_at)
    assert point is not None
    assert not queries.outputs_before(thread, point, at=bench.checkpoint(thread, 0).created_at)
    # A rollback to before the calls: on the new branch they are not on the way.
    bench.roll_back(thread, 0)
    store.edit(thread, changes={"goal": "None"}, reason="", actor="user:1")
    bench.resume(thread)
    bench.advance(thread)
    again = bench.open(thread)
    point = queries.newest_before(thread, branch=again.branch, at=again.requested_at)
    assert point is not None
    calls = queries.outputs_before(thread, point, at=again.requested_at)
    steps = rows("SELECT id FROM gp_activity WHERE thread_id = %s AND branch = 0", (thread,))
    assert not {call.id for call in calls} & {ident for (ident,) in steps}
    assert origins(bench, thread)["$.lines[0].amount"] == "recorded"


def test_a_fork_has_the_outputs_of_its_base(bench: Bench) -> None:
    base = started(bench)
    fork = bench.fork(base, bench.row(base).number, {"ceiling": "81,500.00"})
    Script.proposal = PROPOSAL | {"ceiling": "81500.00"}
    bench.advance(fork)
    results = of(bench, fork).by_path()
    assert results["$.lines[0].amount"].thread == base
    assert (results["$.ceiling"].origin, results["$.ceiling"].source.partition(", ")[2]) == (
        "person", "in a fork",
    )  # fmt: skip


def test_who_edits_one_value_has_entered_that_one_only(bench: Bench) -> None:
    """A list is written as a whole: what stood in it before stays the agent's."""
    own = {"invoice": "X-55512", "amount": "7311.75"}
    Script.proposal, Script.answer = {}, "Nothing"
    thread = bench.start(goal="Pay", lines=[])
    bench.advance(thread)
    gating.withdraw_open(thread, reason="edited", actor="user:1")
    first, second, *others = bench.state(thread)["lines"]
    lines = [first, second | {"amount": "4411.75"}, *others]
    store.edit(thread, changes={"lines": lines}, reason="", actor="user:1")
    Script.proposal = {
        "amount": "4411.75", "reference": own["invoice"], "account": second["name"],
    }  # fmt: skip
    bench.resume(thread)
    bench.advance(thread)
    result = of(bench, thread).by_path()
    assert {path: value.origin for path, value in result.items()} == {
        "$.amount": "person", "$.reference": "agent", "$.account": "recorded",
    }  # fmt: skip
    assert result["$.amount"].source.endswith("in an edit")
    assert material.entered([{"lines": lines}], {"lines": [first, second, *others]}) == [
        {"amount": "4411.75"}
    ]


def test_what_a_reviewer_edits_is_theirs_and_the_rest_is_not(bench: Bench) -> None:
    policy(bench, 2)
    thread = started(bench)
    bench.decide(thread, "edit", args=PROPOSAL | {"account": "DE22370400440532013999"})
    row = bench.open(thread)
    assert row.shown_args["account"] == "DE22370400440532013999"
    result = of(bench, thread).by_path()
    assert (result["$.account"].origin, result["$.reference"].origin) == ("person", "agent")
    assert result["$.account"].source.endswith("in an edit of the request")
    assert result["$.account"].url == f"/approvals/{row.id}/"


def policy(bench: Bench, count: int) -> None:
    """Whatever the agent pays needs so many people."""
    terms = Terms(stages=(Seat(count=count),))
    draft = Draft("pay", "tool == 'pay'", terms=terms)
    policies.make(bench.workspace, draft, actor="user:1")


def test_what_people_wrote_in_a_verdict_before(bench: Bench) -> None:
    thread = started(bench)
    bench.decide(thread, "respond", "Take 61,234.56 and not more")
    row = bench.open(thread)
    words = gates.words_in_thread(row, args_bytes=1_000)
    assert [(one.verdict, one.comment) for one in words] == [
        ("respond", "Take 61,234.56 and not more")
    ]
    # A remark on this very request is no source of it; on a later one it is.
    assert not material.read_material(row).verdicts
    next_args = {"amount": 61234.56}
    later = replace(row, id=uuid4(), requested_at=datetime.now(UTC), standing_args=next_args)
    result = receipts_of(later, bench.row(thread))
    assert result is not None
    assert (result.values[0].origin, result.values[0].source.partition(", ")[2]) == (
        "person", "in an answer",
    )  # fmt: skip


def test_reading_is_bounded_whatever_the_thread_holds(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    thread = started(bench)
    row = bench.open(thread)
    whole = material.read_material(row)
    assert (len(whole.outputs), whole.unread_calls, whole.unread_files) == (2, 0, 0)
    monkeypatch.setattr(material, "FILE_BYTES", 10)
    assert of(bench, thread).unread == "1 large file not scanned."
    assert origins(bench, thread)["$.account"] == "agent"
    monkeypatch.undo()
    monkeypatch.setattr(outputs, "OUTPUT_BYTES", 40)
    assert of(bench, thread).unread == ("2 large outputs, 1 large entry of a person not scanned.")
    monkeypatch.undo()
    for name in ("CALLS_READ", "_ROWS"):
        monkeypatch.setattr(outputs, name, 1)
        monkeypatch.setattr(queries, "CALLS_READ", 1)
        assert len(material.read_material(row).outputs) <= 1
        monkeypatch.undo()
    # What is read of a thread of any length, and by how many statements.
    assert (outputs.CALLS_READ, outputs.BYTES_READ) == (2_000, 512 * 1024)
    assert (material.FILES_BYTES, material.FILES) == (384 * 1024, 20)
    assert len(material.read_material(row).calls) == 2


@pytest.mark.altered
def test_of_10000_calls_the_newest_are_read_up_to_the_limits(bench: Bench) -> None:
    """Rows and bytes are what the time of a page depends on; both end at the limits."""
    thread = started(bench)
    row = bench.open(thread)
    [columns] = rows(
        "SELECT string_agg(quote_ident(column_name), ', ') FROM information_schema.columns "
        "WHERE table_name = 'gp_activity' AND column_name NOT IN ('id', 'key', 'result', 'step')"
    )
    alter(
        f"INSERT INTO gp_activity (id, key, step, result, {columns[0]}) "
        f"SELECT gen_random_uuid(), 'more:' || n, {row.step}, jsonb_build_object('n', n, 'text', "
        f"repeat(md5(n::text), 12)), {columns[0]} FROM gp_activity a, generate_series(1, 10000) n "
        "WHERE a.thread_id = %s::uuid AND a.tool = 'read_invoices'", thread,
    )  # fmt: skip
    point = queries.newest_before(thread, branch=row.branch, at=row.requested_at)
    assert point is not None
    calls = queries.outputs_before(thread, point, at=row.requested_at)
    read = [call for call in calls if call.result is not None]
    assert len(calls) == outputs.CALLS_READ
    assert sum(len(call.result or "") for call in read) <= 2 * outputs.BYTES_READ
    assert of(bench, thread).unread.startswith("Calls older than the newest 2,000")


def test_the_number_of_statements_does_not_grow(
    bench: Bench, django_assert_max_num_queries: Any
) -> None:
    thread = started(bench)
    row, of_thread = bench.open(thread), bench.row(thread)
    with django_assert_max_num_queries(7):
        receipts_of(row, of_thread)


def test_page_and_api_show_them_and_lists_do_not(bench: Bench, cast: Cast) -> None:
    thread = started(bench)
    row, result = bench.open(thread), of(bench, thread)
    client = cast.client("manager")
    detail = client.get(f"{V1}/approvals/{row.id}/").json()
    assert detail["receipts"]["summary"] == result.summary
    assert detail["receipts"]["values"] == [v.model_dump(mode="json") for v in result.values]
    assert "receipts" not in client.get(f"{V1}/approvals/").json()["results"][0]
    html = client.get(f"/approvals/{row.id}/").content.decode()
    [shown] = re.findall(r'<p id="receipts"[^>]*>\s*(.*?)\s*</p>', html, re.DOTALL)
    assert unescape(shown).split("\n")[0] == result.summary
    account = at(bench, thread, "$.account")
    [mark] = re.findall(r'<a class="rc t-done" href="([^"]+)" title="[^"]+orders.csv[^"]+">', html)
    assert unescape(mark) == account.url
    assert client.get(unescape(mark).partition("#")[0]).status_code == 200
    assert html.count("Agent only</span>") == 1
    assert html.count("Computed of 2") == 1
    # The table has one mark a row: all values of a line come from one record.
    assert html.count('<td class="ok">Recorded</td>') == 2


def test_a_damaged_record_gives_no_receipts(bench: Bench, cast: Cast) -> None:
    thread = started(bench)
    row = bench.row(thread)
    damage = VerificationRow.__new__(VerificationRow)
    object.__setattr__(damage, "intact", False)
    result = receipts_of(bench.open(thread), replace(row, integrity=damage))
    assert result is not None
    assert (result.values, result.summary) == ([], "")
    assert "damaged" in result.unread


def test_requests_of_people_and_questions_have_none(cast: Cast) -> None:
    agent = scene.make_agent()
    for kind in ("question", "operation"):
        row = scene.waiting(cast.workspace, agent, kind=kind, tool="", undo="")
        of_thread = queries.thread(row.thread, workspace=row.workspace)
        assert receipts_of(row, of_thread) is None


def test_a_proposal_of_100_lines_stays_a_light_page(bench: Bench, cast: Cast) -> None:
    """Of 40,000 bytes at most; the JSON, which repeats the table, is one click away."""
    lines = [
        {"invoice": f"RE-{n:05}", "supplier": f"Supplier {n % 9} Ltd", "amount": f"{1117 + n}.50"}
        for n in range(100)
    ]
    buying.LINES[:], before = lines, buying.LINES[:]
    try:
        thread = started(bench, {"lines": lines, "total": "116700.00", "reference": "May"})
    finally:
        buying.LINES[:] = before
    result = of(bench, thread)
    assert (result.recorded, result.computed, result.agent) == (300, 1, 1)
    client, address = cast.client("manager"), f"/approvals/{bench.open(thread).id}/"
    page = client.get(address).content
    assert len(page) < 40_000
    assert page.count(b'<td class="ok">Recorded</td>') == 100
    assert b"RE-00099" in page
    assert page.count(b"RE-00099") == 1
    exact = client.get(f"{address}?exact=1").content
    assert exact.count(b"RE-00099") == 2
    assert client.get(f"{address}?exact=2").status_code == 422
