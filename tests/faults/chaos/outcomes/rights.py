"""The right end of each thread: what its state, the bank, the outbox and the folders must hold.

It follows from the task (payables.py, reports.py) and, where a number is given by the outside, from
what the bank answered. Worked out with the standard library; nothing of the product is imported.
"""

from __future__ import annotations

import csv
import email
import email.policy
import io
import re
import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from tests.faults.chaos import tasks

from . import hot, payables, reports, trees
from .payables import shown, written
from .record import Record, Thread, digest

MANAGER = "manager"
# What the start form fills in where nothing was said.
PAYMENTS_ASKED = {
    "due_by": "", "only": [], "at_most": "", "most": 100, "limit": "25000.00", "tolerance": "0.00",
    "on_broken": "set aside", "corrected": {}, "confirmed": [], "columns": {}, "check_paid": True,
}  # fmt: skip
RESEARCH_ASKED = {
    **reports.VALUES, "dataset": "flights", "measure": "", "groups": [], "ignore": [],
}  # fmt: skip
TOOLS = ("bank.reserve", "bank.pay", "remittance.mail")
REPORT_FILES = ("chart.png", "chart.svg", "report.html", "report.md")
# One line of the log per node, two of reading the invoices.
LOG_LINES = {True: tasks.STEPS_PAID + 1, False: tasks.STEPS_REJECTED + 1}


def wrong_end(thread: Thread, record: Record, done: Mapping[str, dict[str, Any]]) -> str:
    """Why a thread did not end right; nothing when it did. `done`: {key: what the bank did}."""
    if thread.agent == hot.AGENT:
        return hot.wrong_end(thread)
    if thread.agent.startswith("chaos-"):
        return trees.wrong_end(thread, record)
    task = thread.task
    if task < 0 or thread.agent != tasks.agent(task):
        return "is of no task"
    if thread.status != "succeeded":
        return f"is {thread.status}"
    if thread.steps != tasks.steps(task) or thread.checkpoints[-1] != thread.head:
        return f"made {thread.steps} steps"
    wanted = wanted_tools(task)
    if sorted((e.tool, e.state) for e in thread.effects) != sorted((t, "done") for t in wanted):
        return f"has the effects {[(e.tool, e.state) for e in thread.effects]}"
    judge = _report if tasks.agent(task) == tasks.RESEARCH else _payment
    return judge(thread, record, {e.tool: e.key for e in thread.effects}, done)


def wanted_tools(task: int) -> tuple[str, ...]:
    """The tools that have to have done something, each once."""
    if tasks.verdict(task) == "reject":
        return ()
    return TOOLS if tasks.agent(task) == tasks.PAYMENTS else ("report.publish",)


def ref(name: str, raw: bytes) -> dict[str, Any]:
    """How state names an uploaded file."""
    return {"$artifact": digest(raw), "name": name, "media_type": "text/csv", "size": len(raw)}


def _odd(state: Mapping[str, Any], right: Mapping[str, Any]) -> str:
    odd = sorted(name for name in right if state.get(name) != right[name])
    return f"ended with other values of {', '.join(odd)}" if odd else ""


# --- payments -------------------------------------------------------------------------------------


def _payment(
    thread: Thread, record: Record, keys: Mapping[str, str], done: Mapping[str, dict[str, Any]]
) -> str:
    task, state = thread.task, thread.state
    before = done.get(f"{payables.BEFORE_KEY}/pay", {}).get("answer", {})
    old = {one["invoice"]: one["payment"] for one in before.get("payments", [])}
    right: dict[str, Any] = payment_asked(task)
    if tasks.full(task):
        reserved, paid = (done.get(keys[tool]) for tool in TOOLS[:2])
        if reserved is None or paid is None:
            return "is paid, and the bank did not do it"
        if payload := _bodies(thread, reserved, paid):
            return payload
        right |= _paid(task, keys, reserved["answer"], paid["answer"])
    else:
        text = f"Nothing was paid: {MANAGER} said no: {tasks.comment(task)}."
        right |= {"reservation": {}, "receipt": {}, "paid": "0.00", "mails": [], "outcome": text}
    filled = {"set_aside", "lines", "orders", "suppliers", "report", "log"}
    if set(state) != set(right) | filled:
        return f"has other channels: {sorted(set(state) ^ (set(right) | filled))}"
    return (
        _odd(state, right)
        or _set_aside(task, state["set_aside"], old)
        or ("" if len(state["log"]) == LOG_LINES[tasks.full(task)] else "has another log")
        or _tables(task, state, record.files)
        or _written_report(task, state, record.files)
        or next((why for mail in state["mails"] if (why := _mail(task, state, mail, record))), "")
    )


def payment_asked(task: int) -> dict[str, Any]:
    """What the thread was started with, and what its own work must have come to."""
    value = payables.files(task)
    name, raw = value["file"]
    return {
        **PAYMENTS_ASKED,
        **{field: ref(*file) for field, file in value.items()},
        "source": {
            "name": name, "sha256": digest(raw), "lines": len(payables.lines(task)),
            "columns": {column: column for column in payables.INVOICE},
        },
        "waiting": [],
        "payments": payables.paid(task),
        "total": written(payables.total(payables.paid(task))),
    }  # fmt: skip


def _bodies(thread: Thread, reserved: Mapping[str, Any], paid: Mapping[str, Any]) -> str:
    """What the bank was told: exactly these payments, and to pay just what was reserved."""
    payments = payables.paid(thread.task)
    body = {
        "total": written(payables.total(payments)), "currency": "EUR", "payments": payments,
        "reference": f"thread {thread.id}",
    }  # fmt: skip
    if reserved["body"] != body:
        return "reserved something else"
    if paid["body"] != {"reservation": reserved["answer"]["reservation"]}:
        return "paid another reservation"
    return "" if paid["answer"]["total"] == body["total"] else "paid another total"


def _paid(
    task: int, keys: Mapping[str, str], reserved: Mapping[str, Any], paid: Mapping[str, Any]
) -> dict[str, Any]:
    payments = payables.paid(task)
    total = payables.total(payments)
    counted = f"{len(payments):,} invoice{'s' * (len(payments) > 1)}"
    return {
        "reservation": {**reserved, "key": keys["bank.reserve"]},
        "receipt": {
            "reservation": reserved["reservation"], "total": written(total),
            "count": len(payments), "paid_at": paid["paid_at"],
        },
        "paid": written(total),
        "outcome": f"Paid {counted}, {shown(total)} EUR.",
        "mails": [
            {
                "file": mail_name(paid["paid_at"], str(mail["supplier"]), keys["remittance.mail"]),
                "to": mail["to"], "total": written(int(str(mail["total"]))),
            }
            for mail in payables.mails(task)
        ],
    }  # fmt: skip


def mail_name(paid_at: str, supplier: str, key: str) -> str:
    """The file of a mail, which follows from the key."""
    return f"{paid_at[:10]}-{supplier}-{digest(f'{key}/{supplier}'.encode())[:24]}.eml"


def _set_aside(task: int, results: list[dict[str, str]], old: Mapping[str, str]) -> str:
    wanted = payables.set_aside(task)
    if [int(one["line"]) for one in results] != [line.number for line in wanted]:
        return f"set aside the lines {[one['line'] for one in results]}"
    for one, line in zip(results, wanted, strict=True):
        saved = {name: line.row[name] for name in ("invoice", "supplier", "amount")}
        if {**one, **saved, "check": line.check} != one:
            return f"set aside line {line.number} with other values"
        named = (line.named, old.get(line.row["invoice"], "") if line.check == "history" else "")
        if not one["why"] or any(part not in one["why"] for part in named):
            return f"set aside line {line.number} for another reason"
        if line.check == "history" and not named[1]:
            return f"set aside line {line.number}, which the bank had not paid"
    return ""


def _rows(raw: bytes | None) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO((raw or b"").decode(), newline="")))


def _tables(task: int, state: Mapping[str, Any], files: Mapping[str, bytes]) -> str:
    """The files that a thread keeps: what was read, and what was set aside."""
    wanted = {
        "lines": [(str(line.number), line.row["invoice"]) for line in payables.lines(task)],
        "orders": [(row["order"], row["supplier"]) for row in payables.orders(task)],
        "suppliers": [(row["supplier"], row["name"]) for row in payables.suppliers(task)],
    }
    for channel, rows in wanted.items():
        saved = _rows(files.get(state[channel]["$artifact"]))
        if [tuple(row.values())[:2] for row in saved] != rows:
            return f"keeps another table of {channel}"
    if _rows(files.get(state["report"]["set_aside"]["$artifact"])) != [
        {name: one[name] for name in ("line", "invoice", "supplier", "amount", "check", "why")}
        for one in state["set_aside"]
    ]:
        return "keeps another table of what was set aside"
    return ""


def _written_report(task: int, state: Mapping[str, Any], files: Mapping[str, bytes]) -> str:
    """The page of the report: each line that was paid or set aside, and each mail, once."""
    text = files.get(state["report"]["markdown"]["$artifact"], b"").decode()
    results = sorted(
        tuple(re.sub(r"\\(.)", r"\1", cell).strip() for cell in line.split(" | "))
        for line in re.findall(r"(?m)^\| (.*) \|$(?!\n\| ---)", text) if not line.startswith("---")
    )  # fmt: skip
    payments = payables.paid(task) if tasks.full(task) else []
    wanted = [
        *((p["invoice"], p["to"], p["account"], shown(payables.in_cents(p["amount"])))
          for p in payments),
        *((one["line"], one["invoice"], one["amount"], one["why"]) for one in state["set_aside"]),
        *((m["to"], shown(payables.in_cents(m["total"])), m["file"]) for m in state["mails"]),
    ]  # fmt: skip
    counted = f"{len(payables.lines(task))} lines: {len(payments)} paid, "
    if results != sorted(wanted) or counted not in text:
        return "wrote another report"
    return ""


def _mail(task: int, state: Mapping[str, Any], stored: Mapping[str, str], record: Record) -> str:
    """The mail lies in the outbox and says what was paid."""
    raw = record.mails.get(stored["file"])
    if raw is None:
        return f"has not written the mail {stored['file']}"
    mail = email.message_from_bytes(raw, policy=email.policy.default)
    right = next(one for one in payables.mails(task) if one["to"] == stored["to"])
    theirs: Any = right["payments"]
    matches = re.findall(r"(?m)^  (\S.*?) +([\d,.]+) EUR   to (\w+)\r?$", mail.get_content())
    if (
        mail["To"].addresses[0].addr_spec != stored["to"]
        or f"{state['receipt']['reservation']}: {shown(payables.total(theirs))} EUR"
        not in mail["Subject"]
        or matches != [(p["invoice"], shown(payables.in_cents(p["amount"])), p["account"])
                    for p in theirs]
    ):  # fmt: skip
        return f"wrote something else into the mail {stored['file']}"
    return ""


# --- market research ------------------------------------------------------------------------------


@cache
def figures(task: int) -> dict[str, Any]:
    """All figures of the report of a task."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "table.csv")
        path.write_bytes(reports.table(task))
        return reports.figures(path)


def _report(
    thread: Thread, record: Record, keys: Mapping[str, str], done: Mapping[str, dict[str, Any]]
) -> str:
    task, state = thread.task, thread.state
    name, raw = reports.files(task)["file"]
    right = figures(task)
    read, rows = right["rows_in"], right["rows"]
    wanted: dict[str, Any] = {
        **RESEARCH_ASKED,
        "file": ref(name, raw),
        "totals": {"rows": read, "kept": rows, "dropped": read - rows},
    }
    if tasks.verdict(task) == "reject":
        wanted |= {"published": {}, "outcome": f"Not published: {tasks.comment(task)}"}
    if why := _odd(state, wanted):
        return why
    if state["report"]["figures"] != right:
        odd = [n for n in {**right, **state["report"]["figures"]}
               if right.get(n) != state["report"]["figures"].get(n)]  # fmt: skip
        return f"reports other figures: {', '.join(sorted(odd)[:3])}"
    if state["profile"]["source"]["sha256"] != digest(raw) or state["summary"]["rows_in"] != read:
        return "read another table"
    refs = {**state["report"], **state["chart"]}
    hashes = {
        file: refs[refs_name]["$artifact"]
        for file, refs_name in zip(REPORT_FILES, ("png", "svg", "html", "markdown"), strict=True)
    }
    if any(digest(record.files.get(sha, b"")) != sha for sha in hashes.values()):
        return "has lost a file of its report"
    if tasks.verdict(task) == "reject":
        return ""
    return _published(state, record, keys["report.publish"], hashes)


def _published(
    state: Mapping[str, Any], record: Record, key: str, hashes: Mapping[str, str]
) -> str:
    """The folder that the thread names is there, of its key, with just its files."""
    slug = state["published"].get("slug", "")
    payload = {one["name"]: one["sha256"] for one in state["published"].get("files", [])}
    if state["published"].get("key") != key or payload != hashes:
        return "published other files than it drafted"
    there = record.reports.get(slug)
    if there is None or there.key != key:
        return f"published {slug!r}, and nothing of it is there"
    if there.promised != hashes or there.there != hashes:
        return f"published {slug!r}, and other files are there"
    if state["outcome"] != f"Published as {slug}.":
        return "ended with another outcome"
    return ""
