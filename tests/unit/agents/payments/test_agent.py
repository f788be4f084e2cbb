"""The whole agent in one process against a real bank: gate, payment, refusal, rollback, faults."""

from __future__ import annotations

import email
import email.policy
import hashlib
import itertools
import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from gatepost_agents.payments import bank as client
from gatepost_agents.payments.agent import graph
from gatepost_agents.payments.invoices import DATA
from tests.unit.agents.testbank.bank import Bank, started_bank
from workers.testing.harness import Harness, Played, Reject

from .oracle import cents, reckon

DUE = "2026-11-30"
FEW = {"only": ["S-104"], "check_paid": False}


@pytest.fixture
def bank(tmp_path: Path, settings: Any) -> Iterator[Bank]:
    settings.GATEPOST_OUTBOX = tmp_path / "outbox"
    with started_bank(tmp_path) as started:
        settings.GATEPOST_BANK_URL = started.url
        yield started


def outbox(tmp_path: Path) -> dict[str, Any]:
    """{file name: the mail} of the outbox."""
    return {
        path.name: email.message_from_bytes(path.read_bytes(), policy=email.policy.default)
        for path in sorted((tmp_path / "outbox").glob("*"))
    }


def upload(harness: Harness, name: str, text: str) -> dict[str, Any]:
    """A file as the start form stores it."""
    raw = text.encode()
    sha = hashlib.sha256(raw).hexdigest()
    harness.plays.files[sha] = (name, "text/csv", raw)
    return {"$artifact": sha, "name": name, "media_type": "text/csv", "size": len(raw)}


def to_the_end(thread: Played) -> Played:
    """Retry what a fault made fail, as an operator does; a policy may have been faster."""
    for _ in range(5):
        if thread.status == "failed":
            thread.retry()
    return thread


def kinds_in(value: Any) -> Iterator[type]:
    if isinstance(value, Mapping):
        for inner in value.values():
            yield from kinds_in(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from kinds_in(inner)
    else:
        yield type(value)


def test_it_stops_before_paying_and_shows_exactly_what_will_be_paid(
    bank: Bank, tmp_path: Path
) -> None:
    thread = Harness(graph).play({"due_by": DUE})
    result = reckon(DATA, due_by=DUE)
    whole = sum(result.paid.values())
    (request,) = thread.open
    assert request.title == f"Pay {len(result.paid)} invoices, {whole / 100:,.2f} EUR?"
    assert thread.title == f"{len(result.paid)} invoices, EUR {whole / 100:,.2f}"
    assert (request.tool, request.undo, request.risk) == ("bank.reserve", "release", "high")
    assert "but not the mails" in request.description
    assert list(request.args)[:3] == ["count", "total", "currency"], "totals first"
    assert request.args["total"] == f"{whole // 100}.{whole % 100:02}"
    assert request.args["count"] == len(request.args["payments"]) == len(result.paid)
    assert sum(cents(one["amount"]) or 0 for one in request.args["payments"]) == whole
    assert {one["account"] for one in request.args["payments"]} <= {
        row.split(",")[2] for row in (DATA / "suppliers.csv").read_text().splitlines()
    }
    for check, lines in result.aside.items():
        message = sum(problem["check"] == check for problem in thread.state["set_aside"])
        assert message == len(lines)
        assert any(reason.startswith(f"{message} ") for reason in request.reasons), check
    assert float not in set(kinds_in([thread.state, request.args])), "money is not a float"
    assert len(graph.nodes) >= 10
    assert bank.lines("done") == []
    assert outbox(tmp_path) == {}


def test_what_was_approved_is_paid_once_and_told_to_each_supplier(
    bank: Bank, tmp_path: Path
) -> None:
    thread = Harness(graph).play({"due_by": DUE})
    (request,) = thread.open
    thread.decide("approve")
    assert thread.status == "succeeded", thread
    assert bank.done() == ["reserve", "pay"]
    paid = bank.get("payments")["payments"]
    payload = ("to", "due", "amount", "account", "invoice", "supplier")
    assert [{name: one[name] for name in payload} for one in paid] == request.args["payments"]
    assert {one["reference"] for one in paid} == {f"thread {thread.id}"}
    assert bank.get("balance")["paid"] == request.args["total"] == thread.state["paid"]
    assert bank.get("balance")["reserved"] == "0.00"

    owed: dict[str, int] = defaultdict(int)
    for one in paid:
        owed[one["supplier"]] += cents(one["amount"]) or 0
    mails = outbox(tmp_path)
    assert len(mails) == len(owed) == len(thread.state["mails"])
    for name, mail in mails.items():
        supplier = "-".join(name.split("-")[3:5])
        text = mail.get_content()
        amount = f"{owed.pop(supplier) / 100:,.2f}"
        assert mail["Subject"].endswith(f"{amount} EUR")
        assert mail["To"].addresses[0].domain.endswith(".example")
        theirs = [one for one in paid if one["supplier"] == supplier]
        assert all(one["invoice"] in text and one["account"] in text for one in theirs)
    assert not owed
    report = thread.file(thread.state["report"]["markdown"]).decode()
    assert thread.state["outcome"] in report
    assert report.count("\n| ") >= 138
    aside = thread.file(thread.state["report"]["set_aside"]).decode().splitlines()
    assert len(aside) - 1 == len(thread.state["set_aside"])


@pytest.mark.requirement("A22")
def test_thoughts_tool_outputs_and_the_decision_are_events_of_their_own(bank: Bank) -> None:
    thread = Harness(graph).play({"due_by": DUE})
    thread.decide("approve")
    payload: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for event in thread.events:
        payload[event.kind].append(event.data)
    assert len(payload["thought.recorded"]) >= 5
    assert all(len(thought["text"]) > 20 for thought in payload["thought.recorded"])
    assert all(output["tool"] and output["seal"] for output in payload["activity.finished"])
    assert {done["tool"] for done in payload["effect.finished"]} >= {"bank.reserve", "bank.pay"}
    assert [decided["verdict"] for decided in payload["approval.decided"]] == ["approve"]
    assert len(payload["way.taken"]) >= 1
    assert len(payload["checkpoint.committed"]) >= 4


def test_a_no_pays_nothing_and_says_so(bank: Bank, tmp_path: Path) -> None:
    thread = Harness(graph).play({"due_by": DUE}, decide=Reject("not this month"))
    assert thread.status == "succeeded"
    assert thread.state["outcome"] == "Nothing was paid: reviewer said no: not this month."
    assert (thread.state["paid"], thread.state["receipt"], thread.effects) == ("0.00", {}, [])
    assert bank.lines("done") == []
    assert outbox(tmp_path) == {}
    report = thread.file(thread.state["report"]["markdown"]).decode()
    assert "Nothing was paid" in report
    assert "## Paid" not in report


def test_a_rollback_takes_back_both_steps_at_the_bank_and_leaves_the_mails(
    bank: Bank, tmp_path: Path
) -> None:
    thread = Harness(graph).play({"due_by": DUE}, decide="approve")
    before = outbox(tmp_path)
    fates = [(fate.activity.tool, fate.fate) for fate in thread.would_undo(0)]
    assert fates == [
        ("remittance.mail", "stays"), ("bank.pay", "undoable"), ("bank.reserve", "undoable"),
    ]  # fmt: skip
    thread.roll_back(to=0)
    assert thread.status == "paused"
    assert bank.done() == ["reserve", "pay", "refund", "release"]
    assert bank.get("balance")["available"] == "1000000.00"
    assert bank.get("payments") == {"payments": []}
    assert {e.tool: e.state for e in thread.effects} == {
        "bank.reserve": "compensated", "bank.pay": "compensated", "remittance.mail": "done",
    }  # fmt: skip
    assert outbox(tmp_path).keys() == before.keys()
    assert before
    assert thread.state["paid"] == "0.00"


def test_paid_again_after_going_back_to_the_reservation(bank: Bank, tmp_path: Path) -> None:
    """The refund lets the money lie in its reservation, so only the payment is made anew."""
    thread = Harness(graph).play({"due_by": DUE}, decide="approve")
    mails = outbox(tmp_path).keys()
    number = next(c.number for c in thread.checkpoints if c.next_nodes == ("pay",))
    thread.roll_back(to=number)
    assert bank.done() == ["reserve", "pay", "refund"]
    # Mails that were not taken back may be asked about before they are written again.
    thread.resume(decide={"remittance.mail": Reject("they know")})
    assert thread.status == "succeeded"
    assert outbox(tmp_path).keys() >= mails
    assert bank.done() == ["reserve", "pay", "refund", "pay"]
    assert bank.get("balance")["paid"] == thread.state["paid"]
    keys = [line["key"] for line in bank.lines("done")]
    assert len(set(keys)) == 4


@pytest.mark.slow
@pytest.mark.parametrize("no_to", ["bank.pay", "remittance.mail"])
def test_a_fork_that_is_told_no_goes_on_to_its_report(
    bank: Bank, tmp_path: Path, no_to: str
) -> None:
    """A fork asks before each effect; each no is an end of its own, not a failure."""
    base = Harness(graph).play({"due_by": DUE})
    fork = base.fork(at=0, decide=lambda query: Reject("no") if query.tool == no_to else "approve")
    assert fork.status == "succeeded", fork
    assert outbox(tmp_path) == {}
    paid = no_to == "remittance.mail"
    assert bank.done() == (["reserve", "pay"] if paid else ["reserve"])
    message = (
        "Paid 77 invoices" if paid else "Nothing was paid: reviewer said no: no. The money stays"
    )
    assert fork.state["outcome"].startswith(message)
    assert base.status == "waiting"


def test_the_next_thread_pays_only_what_is_left(bank: Bank) -> None:
    harness = Harness(graph)
    first = harness.play({"due_by": "2026-10-31"}, decide="approve")
    second = harness.play({"due_by": DUE}, decide="approve")
    both = [{p["invoice"] for p in thread.state["payments"]} for thread in (first, second)]
    assert both[0].isdisjoint(both[1])
    before = {p["line"] for p in second.state["set_aside"] if p["check"] == "history"}
    assert len(before) == len(first.state["payments"])
    third = harness.play({"due_by": DUE})
    assert third.status == "succeeded", "nobody is asked about nothing"
    assert third.approvals == []
    assert third.state["outcome"] == "Nothing was paid: no invoice is ready to be paid."
    whole = sum(reckon(DATA, due_by=DUE).paid.values())
    assert cents(bank.get("balance")["paid"]) == whole


@pytest.mark.slow
@pytest.mark.parametrize("op", ["reserve", "pay"])
@pytest.mark.parametrize("kind", ["lost", "timeout", "429", "503"])
def test_a_fault_of_the_bank_is_got_over_without_paying_twice(
    bank: Bank, op: str, kind: str
) -> None:
    bank.fault(kind, op=op, **({"seconds": 0.1} if kind == "timeout" else {"retry_after": 0.1}))
    thread = to_the_end(Harness(graph).play(FEW, decide="approve"))
    assert thread.status == "succeeded", thread
    assert bank.done() == ["reserve", "pay"]
    assert len({line["key"] for line in bank.lines(op=op)}) == 1
    assert len(bank.lines(op=op)) == 2


def test_errors_of_the_bank_say_what_a_retry_needs(bank: Bank) -> None:
    bank.fault("429", retry_after=3)
    with pytest.raises(client.BankRefused) as refused:
        client.post(bank.url, "pay", {}, key="k")
    assert refused.value.response.status_code == 429
    assert refused.value.response.headers["Retry-After"] == "3"
    assert str(refused.value) == "The bank refused (429): Too many calls."
    bank.fault("slow", seconds=30)
    with pytest.raises(client.BankSilent, match=r"within 0\.2 s; retry, it does nothing twice"):
        client._call(bank.url, "POST", "/pay", {}, {"Idempotency-Key": "k"}, 0.2)


@pytest.mark.slow
def test_without_a_bank_the_step_fails_in_plain_words_and_a_retry_goes_on(
    bank: Bank, settings: Any
) -> None:
    bank.kill()
    thread = Harness(graph).play({"due_by": DUE})
    assert thread.status != "waiting"
    if thread.status == "failed":
        assert f"The bank at {bank.url} does not answer" in thread.reason
        assert "GATEPOST_BANK_URL" in thread.reason
    bank.start()
    settings.GATEPOST_BANK_URL = bank.url
    thread.retry()
    assert thread.status == "waiting"
    thread.decide("approve")
    assert thread.status == "succeeded"


def test_too_little_money_is_said_and_nothing_is_paid(tmp_path: Path, settings: Any) -> None:
    settings.GATEPOST_OUTBOX = tmp_path / "outbox"
    with started_bank(tmp_path, opening="100.00") as bank:
        settings.GATEPOST_BANK_URL = bank.url
        thread = Harness(graph).play({"due_by": DUE}, decide="approve")
        assert thread.status == "failed"
        assert "are more than the 100.00 EUR available" in thread.reason
        assert bank.done() == []
        assert outbox(tmp_path) == {}


@pytest.mark.slow
def test_a_lost_worker_at_any_write_pays_and_mails_once(bank: Bank, tmp_path: Path) -> None:
    """The worker dies after its n-th write, another goes on; strung over the whole thread."""
    died, mails = 0, 0
    for n in itertools.count(1, 2):
        before = len(bank.lines("done"))
        thread = Harness(graph, stop_after=n).play(FEW, decide="approve")
        assert thread.status == "succeeded", (n, thread)
        assert bank.done()[before:] == ["reserve", "pay"], n
        mails += len(thread.state["mails"])
        assert len(outbox(tmp_path)) == mails, n
        if not any(kind == "lease.taken_over" for kind in thread.kinds):
            break
        died += 1
    assert died >= 6


def test_stopping_for_a_broken_line_then_correcting_it_and_retrying(bank: Bank) -> None:
    thread = Harness(graph).play({**FEW, "on_broken": "stop"})
    assert thread.status == "failed"
    assert "8 lines of `invoices.csv` cannot be read: line 107: the amount isn’t a" in thread.reason
    assert "(`45O.00`); line 116: the amount isn’t a number" in thread.reason, "all at once"
    thread.edit({"corrected": {"107": "450.00"}}).retry()
    assert thread.status == "failed"
    assert "7 lines of `invoices.csv` cannot be read: line 116: the amount" in thread.reason
    thread.edit({"on_broken": "set aside"}).retry()
    assert thread.status == "waiting"
    assert "107" not in {problem["line"] for problem in thread.state["set_aside"]}


THEIRS = """Rechnungsnummer;Kreditor;Bestellung;Fällig am;Summe;IBAN
1001;70001;B-1;30.11.2026;1.200,00;DE89 3704 0044 0532 0130 00
1002;70002;B-2;01.12.2026;99,90;NL91ABNA0417164300
1003;70002;B-9;01.12.2026;15,00;NL91ABNA0417164300
"""
ORDERED = "order,vendor,total\nB-1,70001,1200.00\nB-2,70002,99.90\n"
KNOWN = """number;vendor name;iban;e-mail
70001;Erste GmbH;DE89370400440532013000;a@erste.example
70002;Tweede B.V.;NL91ABNA0417164300;
"""


def test_files_of_another_house_are_paid_after_a_column_was_named(
    bank: Bank, tmp_path: Path
) -> None:
    harness = Harness(graph)
    thread = harness.play({
        "file": upload(harness, "offene-posten.csv", THEIRS),
        "orders_file": upload(harness, "orders.csv", ORDERED),
        "suppliers_file": upload(harness, "vendors.csv", KNOWN),
    })  # fmt: skip
    assert thread.status == "failed"
    assert "The file `offene-posten.csv` has no column for the amount" in thread.reason
    thread.edit({"columns": {"amount": "Summe"}}).retry("approve")
    assert thread.status == "succeeded", thread
    assert thread.state["paid"] == "1299.90"
    (aside,) = thread.state["set_aside"]
    assert (aside["line"], aside["why"]) == ("4", "There is no order `B-9`.")
    assert [mail["to"] for mail in thread.state["mails"]] == ["a@erste.example"]
    assert "70002 has no mail address and is not told." in thread.thoughts
    assert len(outbox(tmp_path)) == 1


def test_the_progress_of_reading_is_told(bank: Bank) -> None:
    messages: list[tuple[float, float | None]] = []
    harness = Harness(graph)
    with pytest.MonkeyPatch.context() as patched:
        from gatepost_agents.payments import agent

        patched.setattr(agent, "progress", lambda done, whole, text: messages.append((done, whole)))
        harness.play(FEW)
    assert len(messages) >= 20
    assert messages[-1] == (138, 138)


def test_the_same_key_writes_the_same_mail(tmp_path: Path, bank: Bank) -> None:
    thread = Harness(graph).play(FEW, decide="approve")
    effect = thread.effects[-1]
    from gatepost_agents.payments.tools import mail

    (path,) = (tmp_path / "outbox").iterdir()
    raw = path.read_bytes()
    path.unlink()
    again = mail(**effect.args, key=effect.idempotency_key)
    assert again == effect.result
    assert path.read_bytes() == raw
    assert json.dumps(effect.result).count(str(tmp_path)) == 0
