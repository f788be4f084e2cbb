"""The verdict finds what is wrong: each thing that must not be, done once to a sound record."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
from django.test import override_settings

from tests.faults.chaos.outcomes.judge import Judge
from tests.faults.chaos.outcomes.record import Record, Thread
from tests.faults.chaos.outcomes.rights import REPORT_FILES
from tests.faults.chaos.outcomes.sound import played
from tests.unit.agents.testbank.bank import started_bank

from . import verdict
from .outcomes import payables
from .sizes import THREADS, Faults, HostFaults
from .verdict import OF_HOSTS, WHOLE, WHOLE_OF_HOSTS, findings

# Paid (the bank paid one of its invoices before), rejected, reported, rejected report.
PAID, REJECTED, REPORTED, REJECTED_REPORT = 8, 7, 11, 44
ALL = (1, 2, 3, PAID, REJECTED, 10, REPORTED, REJECTED_REPORT, 45)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Record]:
    home = tmp_path_factory.mktemp("sound")
    with (
        started_bank(home) as bank,
        override_settings(
            GATEPOST_BANK_URL=bank.url,
            GATEPOST_OUTBOX=home / "outbox",
            GATEPOST_PUBLISHED=home / "published",
        ),
    ):
        yield played(bank, home, ALL)


@pytest.fixture
def sound(recorded: Record) -> Record:
    return copy.deepcopy(recorded)


def wrong(record: Record) -> dict[str, list[Any]]:
    return {name: result for name, result in findings(Judge(record)).items() if result}


@pytest.mark.slow
@pytest.mark.requirement("A07")
def test_what_the_agents_make_of_the_tasks_is_found_sound(sound: Record) -> None:
    assert wrong(sound) == {}
    judge = Judge(sound)
    assert len(judge.full()) == 6
    assert len(sound.mails) == sum(len(payables.mails(t.task)) for t in judge.full()) > 6
    assert len(sound.reports) == 1


def of(record: Record, task: int) -> Thread:
    return next(thread for thread in record.threads.values() if thread.task == task)


def line_of(record: Record, task: int, op: str) -> dict[str, Any]:
    key = next(e.key for e in of(record, task).effects if e.tool == f"bank.{op}")
    return next(line for line in record.bank if line["key"] == key)


def again(line: dict[str, Any], **other: Any) -> dict[str, Any]:
    return copy.deepcopy(line) | other


# --- harms ----------------------------------------------------------------------------------------


def change_state(r: Record) -> None:
    of(r, PAID).state["paid"] = "1.00"


def forget_a_line(r: Record) -> None:
    of(r, PAID).state["set_aside"].pop()


def another_reason(r: Record) -> None:
    of(r, PAID).state["set_aside"][-1]["why"] = "It was paid already."


def say_it_twice(r: Record) -> None:
    log = of(r, PAID).state["log"]
    log.append(log[-1])


def another_file(r: Record) -> None:
    of(r, PAID).state["file"]["$artifact"] = "0" * 64


def lose_the_report(r: Record) -> None:
    del r.files[of(r, PAID).state["report"]["markdown"]["$artifact"]]


def break_a_file(r: Record) -> None:
    r.broken_files.append("artifacts/x is gone")


def fail(r: Record) -> None:
    of(r, PAID).status = "failed"


def one_step_more(r: Record) -> None:
    of(r, PAID).steps += 1


def lose_an_effect(r: Record) -> None:
    of(r, PAID).effects.pop(0)


def leave_it_unknown(r: Record) -> None:
    effects = of(r, PAID).effects
    effects[2] = replace(effects[2], state="unknown")


def pay_twice(r: Record) -> None:
    r.bank.append(again(line_of(r, PAID, "pay")))


def pay_with_two_keys(r: Record) -> None:
    r.bank.append(again(line_of(r, PAID, "reserve"), key="another"))


def another_body(r: Record) -> None:
    r.bank.append(again(line_of(r, PAID, "pay"), outcome="mismatch", body_sha256="x"))


def refuse(r: Record) -> None:
    r.bank.append(again(line_of(r, PAID, "pay"), outcome="refused"))


def another_total(r: Record) -> None:
    line = line_of(r, PAID, "reserve")
    line["body"]["total"] = line["answer"]["total"] = "1.00"


def another_account(r: Record) -> None:
    line_of(r, PAID, "reserve")["body"]["payments"][0]["account"] = payables.iban(1)


def never_reserve(r: Record) -> None:
    r.bank.remove(line_of(r, PAID, "reserve"))


def pay_what_was_rejected(r: Record) -> None:
    line = again(line_of(r, PAID, "reserve"), key="odd")
    line["body"] |= {"reference": f"thread {of(r, REJECTED).id}", "payments": []}
    r.bank.append(line)


def say_yes_to_a_no(r: Record) -> None:
    of(r, REJECTED).state["outcome"] = "Nothing was paid: manager said no: Looked at task 8."


def mail_twice(r: Record) -> None:
    r.mails["again.eml"] = r.mails[of(r, PAID).state["mails"][0]["file"]]


def lose_a_mail(r: Record) -> None:
    del r.mails[of(r, PAID).state["mails"][0]["file"]]


def another_mail(r: Record) -> None:
    name = of(r, PAID).state["mails"][0]["file"]
    account = of(r, PAID).state["payments"][-1]["account"].encode()
    r.mails[name] = r.mails[name].replace(account, payables.iban(1).encode())


def another_figure(r: Record) -> None:
    of(r, REPORTED).state["report"]["figures"]["overall.mean"] += 0.01


def lose_a_published_file(r: Record) -> None:
    next(iter(r.reports.values())).there.pop(REPORT_FILES[0])


def publish_twice(r: Record) -> None:
    ((slug, report),) = r.reports.items()
    r.reports[f"{slug}-2"] = report


def unpublish(r: Record) -> None:
    r.reports.clear()


def publish_what_was_rejected(r: Record) -> None:
    (report,) = r.reports.values()
    r.reports["odd"] = replace(report, key="odd", there={"report.md": "0"})


def lose_an_upload(r: Record) -> None:
    r.acknowledged.append({"command": "upload", "sha256": "0" * 64, "task": 1})


def lose_a_decision(r: Record) -> None:
    of(r, 1).events[3] = (4, "approval.decided", {"approval": "a1", "outcome": "x"}, 4.0)


def lose_a_start(r: Record) -> None:
    r.acknowledged.append({"command": "start", "thread": "nowhere", "task": 99})


def lose_a_pause(r: Record) -> None:
    r.acknowledged.append({"command": "pause", "thread": of(r, 1).id})


def gap(r: Record) -> None:
    del of(r, 1).events[2]


def twice(r: Record) -> None:
    of(r, 1).events.insert(3, (4, "checkpoint.committed", {"checkpoint": "c1"}, 3.5))


def fail_a_step(r: Record) -> None:
    of(r, 1).events[1] = (2, "step.failed", {"error": "OperationalError"}, 2.0)


def start_twice(r: Record) -> None:
    other = copy.deepcopy(of(r, REJECTED))
    other.id = "other"
    other.events[2] = (3, "checkpoint.committed", {"checkpoint": "c0"}, 3.0)
    other.events[3] = (4, "approval.decided", {"approval": "a0", "outcome": "reject"}, 4.0)
    r.threads["other"] = other


def fall_silent(r: Record) -> None:
    events = of(r, 1).events
    events[2:] = [(n, kind, data, when + 21) for n, kind, data, when in events[2:]]


ENDS, DOUBLED, KEYS = "ended wrong", "doubled under one key", "several keys for one place"
STRANGE, CALLS, SUMS = "at the bank, not on record", "calls that went wrong", "sums at the bank"
MAILS, REPORTS, LOST = (
    "mails that must not be", "reports that must not be", "acknowledged, not there",
)  # fmt: skip


@pytest.mark.slow
@pytest.mark.requirement("A07")
@pytest.mark.parametrize(
    ("harm", "finds"),
    [
        (change_state, {ENDS}),
        (forget_a_line, {ENDS}),
        (another_reason, {ENDS}),
        (say_it_twice, {ENDS}),
        (another_file, {ENDS}),
        (lose_the_report, {ENDS}),
        (break_a_file, {"files that are not what they were"}),
        (fail, {ENDS}),
        (one_step_more, {ENDS}),
        (lose_an_effect, {ENDS, STRANGE}),
        (leave_it_unknown, {ENDS}),
        (pay_twice, {DOUBLED, KEYS, SUMS}),
        (pay_with_two_keys, {KEYS, STRANGE, SUMS}),
        (another_body, {DOUBLED, CALLS}),
        (refuse, {CALLS}),
        (another_total, {ENDS, SUMS}),
        (another_account, {ENDS}),
        (never_reserve, {ENDS, SUMS}),
        (pay_what_was_rejected, {STRANGE, SUMS}),
        (say_yes_to_a_no, {ENDS}),
        (mail_twice, {MAILS}),
        (lose_a_mail, {ENDS}),
        (another_mail, {ENDS}),
        (another_figure, {ENDS}),
        (lose_a_published_file, {ENDS}),
        (publish_twice, {REPORTS}),
        (unpublish, {ENDS}),
        (publish_what_was_rejected, {REPORTS}),
        (lose_an_upload, {LOST}),
        (lose_a_decision, {LOST}),
        (lose_a_start, {LOST}),
        (lose_a_pause, {LOST}),
        (gap, {"gaps in the log"}),
        (twice, {"gaps in the log", "events that stand twice"}),
        (fail_a_step, {"steps that failed"}),
        (start_twice, {"started twice"}),
        (fall_silent, {"silent over 20 s"}),
    ],
)
def test_harm_is_found(sound: Record, harm: Callable[[Record], None], finds: set[str]) -> None:
    harm(sound)
    assert set(wrong(sound)) == finds, wrong(sound)


def test_waiting_is_no_silence(sound: Record) -> None:
    events = of(sound, 1).events
    events[2] = (3, "thread.suspended", {}, 3.0)
    events[3:] = [(n, kind, data, when + 1000) for n, kind, data, when in events[3:]]
    assert wrong(sound) == {}


# --- the line -------------------------------------------------------------------------------------


def line(record: Record, plan: Faults, n: int = 6, **more: Any) -> Any:
    """The JSON line on a record; `more` changes what the driver told, `hits` what struck."""
    strikes = [{"kind": kind, "running": 1} for kind in plan.shuffled(1)]
    payload = {
        "threads": n, "seed": 1, "seconds": 1, "verified": "v", "trouble": "", "gave_up": 0,
        "plan": asdict(plan), "missed": 0, "answers": {}, "broken": [], "left_waiting": 0,
        "hot_threads": 0, "hosts": 1, "clocks": {}, **more,
    }  # fmt: skip
    hits = verdict.struck(strikes[: more.get("hits", len(strikes))], payload["hosts"])
    tables = {"approvals used twice": more.get("approvals"), "still running": more.get("running")}
    return verdict.judged(record, hits, payload, **tables)


def test_a_small_one_is_ok_and_does_not_stand_for_the_row(sound: Record) -> None:
    result = line(sound, Faults().scaled(0.03))
    assert (result["ok"], result["row"], result["value"]) == (True, None, 100.0)
    assert (result["threads"], result["ended_right"], result["full_threads"]) == (9, 9, 6)
    assert json.loads(json.dumps(result)) == result
    verdict.table(result, lambda text: None)


def test_the_whole_stands_for_the_row(sound: Record, monkeypatch: pytest.MonkeyPatch) -> None:
    assert WHOLE["full threads"] == THREADS
    assert line(sound, Faults())["row"] is None
    monkeypatch.setitem(WHOLE, "full threads", 6)
    assert WHOLE["hot threads"] >= 100
    for name in ("hot threads", "hot steps seen waiting"):
        monkeypatch.setitem(WHOLE, name, 0)
    result = line(sound, Faults())
    assert (result["ok"], result["row"]) == (True, "A07")
    short = line(sound, Faults(), hits=190)
    assert (short["ok"], short["row"]) == (False, None)
    assert "kills" in short["short_of"]
    # One that ended wrong is none of those that were asked for.
    fail(sound)
    few = line(sound, Faults())
    assert (few["ok"], few["row"], few["full_threads"]) == (False, None, 5)


@pytest.mark.parametrize(
    "more",
    [
        {"broken": ["thread x: event 3"]},
        {"left_waiting": 3},
        {"hot_threads": 1},
        {"trouble": "TimeoutError"},
        {"running": ["t"]},
        {"approvals": ["a"]},
        {"n": 7},
    ],
)
def test_anything_else_that_is_wrong_makes_it_not_ok(sound: Record, more: dict[str, Any]) -> None:
    assert line(sound, Faults().scaled(0.03), **more)["ok"] is False


# --- several hosts --------------------------------------------------------------------------------


def test_strikes_at_hosts_are_counted_where_there_are_several(
    sound: Record, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, n in {"full threads": 6, "hot threads": 0, "hot steps seen waiting": 0}.items():
        monkeypatch.setitem(WHOLE, name, n)
    result = line(sound, HostFaults(), hosts=4)
    assert (result["ok"], result["row"], result["hosts"]) == (True, "B30", 4)
    assert {name: result["struck"][name] for name in WHOLE_OF_HOSTS} == {
        name: getattr(HostFaults(), kind) for kind, name in OF_HOSTS.items()
    }
    few = line(sound, HostFaults(), hosts=4, hits=260)
    assert (few["ok"], few["row"]) == (False, None)
    assert set(few["short_of"]) & set(WHOLE_OF_HOSTS)
    # One host is struck and counted as it always was.
    assert not set(WHOLE_OF_HOSTS) & set(line(sound, Faults())["struck"])


def test_clocks_and_files_of_hosts_are_looked_at(tmp_path: Path) -> None:
    def counted(**clocks: float) -> Record:
        counts = [{"host": host, "clock": 1_000.0 + ahead} for host, ahead in clocks.items()]
        return Record({}, [], [], counts=counts)

    summary = {"clock": 1_000.0, "clocks": {"one": 0, "two": 420}}
    assert verdict.wrong_clocks(counted(one=0.1, two=420.2), summary) == []
    assert [why[:3] for why in verdict.wrong_clocks(counted(one=0.1, two=0.0), summary)] == ["two"]
    assert [why[:3] for why in verdict.wrong_clocks(counted(one=420.0, two=420.0), summary)] == [
        "one"
    ]
    assert [why[:3] for why in verdict.wrong_clocks(counted(one=0.0), summary)] == ["two"]
    # One host has no clock of its own, and the driver says none.
    assert verdict.wrong_clocks(counted(one=0.0), {"clocks": {}}) == []

    (tmp_path / "hosts/one/data/artifacts").mkdir(parents=True)
    (tmp_path / "data").mkdir()
    (tmp_path / "data/file").touch()
    assert verdict.kept_files(tmp_path) == []
    (tmp_path / "hosts/one/data/artifacts/file").touch()
    assert verdict.kept_files(tmp_path) == [str(tmp_path / "hosts/one/data/artifacts/file")]
