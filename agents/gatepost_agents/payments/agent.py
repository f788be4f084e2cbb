"""The agent: load -> orders -> checks -> choose -> gate, reserve -> pay -> mail -> report.

Reserving and paying can be taken back, last first; the mails cannot, and the gate says so.
Files are read and the bank is called inside of activities and effects only.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from gatepost import END, Context, Expired, Gate, Graph, Rejected, progress, setting

from . import bank, checks, invoices
from .choice import choose as choose_lines
from .invoices import CURRENCY, DATA, Line, Problem, from_csv, to_csv
from .mail import drafts
from .money import shown
from .plurals import counted
from .report import report as write_report
from .state import Payments, Ref
from .table import Table, read
from .tools import mail, pay, refund, release, reserve

CSV = "text/csv"
NAMED = 6  # invoices that a thought names

graph = Graph(
    "payments",
    Payments,
    version=1,
    label="Payments",
    description="Matches invoices with orders, checks them, pays those that you let pass, and "
    "writes remittance advice.",
)


def _table(ctx: Context, file: Ref | None, sample: str) -> Table:
    """The uploaded file, or the one that comes with the agent."""
    if file:
        return read(ctx.artifact_path(file), str(file["name"]))
    return read(DATA / sample, sample)


def _rows(ctx: Context, ref: Ref) -> list[Line]:
    with ctx.open_artifact(ref) as file:
        return from_csv(file.read())


def _open(ctx: Context, ref: Ref, aside: Sequence[str]) -> list[Line]:
    """The lines that nothing speaks against so far."""
    gone = set(aside)
    return [line for line in _rows(ctx, ref) if line["line"] not in gone]


def _aside(state: Payments) -> list[str]:
    return [problem["line"] for problem in state.set_aside]


def _report(ctx: Context, problems: Sequence[Problem], check: str) -> dict[str, Any]:
    """A thought and the update of a check: what it sets aside and why."""
    number = len(problems)
    if not number:
        ctx.think(f"No invoices {checks.TITLES[check]}.")
        return {"log": [f"0 invoices {checks.TITLES[check]}."]}
    text = f"{counted(number)} {checks.title(check, number)}"
    for problem in problems[:NAMED]:
        named = problem["invoice"] or "without a number"
        ctx.think(f"Line {problem['line']}, {named}, is set aside. {problem['why']}")
    if number > NAMED:
        more = number - NAMED
        ctx.think(f"{more} more {checks.title(check, more)}; the report names them all.")
    return {"set_aside": problems, "log": [f"{text}."]}


def _no(no: Rejected | Expired) -> str:
    return (
        f"{no.by} said no: {no.comment}" if isinstance(no, Rejected) else "nobody decided in time"
    )


@graph.node(then="orders", label="Read the invoices")
def load(state: Payments, ctx: Context) -> dict[str, Any]:
    """Read the uploaded or the sample's invoices, line by line."""

    def read_invoices(
        file: Ref | None, columns: dict[str, str], corrected: dict[str, str], on_broken: str
    ) -> dict[str, Any]:
        table = _table(ctx, file, "invoices.csv")
        lines, problems, places = invoices.read_invoices(
            table,
            named=columns,
            corrected=corrected,
            stop=on_broken == "stop",
            report=progress,
        )
        return {
            "source": {"name": table.name, "sha256": table.sha256, "columns": places},
            "count": len(lines),
            "lines": ctx.artifact("invoices-read.csv", to_csv(lines, invoices.LINE), CSV),
            "problems": problems,
        }

    activity = ctx.activity(
        read_invoices, state.file, state.columns, state.corrected, state.on_broken
    )
    source = {**activity["source"], "lines": activity["count"]}
    text = f"Read {counted(activity['count'], 'line')} of {source['name']}."
    ctx.think(text)
    update = _report(ctx, activity["problems"], "reading")
    return {**update, "source": source, "lines": activity["lines"], "log": [text, *update["log"]]}


@graph.node(then="duplicates", label="Read orders and suppliers")
def orders(state: Payments, ctx: Context) -> dict[str, Any]:
    """Read what the invoices are held against."""

    def read_references(
        orders_file: Ref | None, suppliers_file: Ref | None, columns: dict[str, str]
    ) -> dict[str, Any]:
        ordered = invoices.read_orders(_table(ctx, orders_file, "orders.csv"), columns)
        known = invoices.read_suppliers(_table(ctx, suppliers_file, "suppliers.csv"), columns)
        names = ("order", "supplier", "amount", "currency")
        more = ("supplier", "name", "account", "mail")
        return {
            "orders": ctx.artifact("orders-read.csv", to_csv(ordered.values(), names), CSV),
            "suppliers": ctx.artifact("suppliers-read.csv", to_csv(known.values(), more), CSV),
            "counts": [len(ordered), len(known)],
        }

    activity = ctx.activity(read_references, state.orders_file, state.suppliers_file, state.columns)
    ordered, known = activity.pop("counts")
    return {**activity, "log": [f"Read {ordered:,} orders and {known:,} suppliers."]}


@graph.node(then="match", label="Look for duplicates")
def duplicates(state: Payments, ctx: Context) -> dict[str, Any]:
    """Find invoices that would be paid twice."""

    def find_duplicates(lines: Ref, aside: list[str]) -> list[Problem]:
        return checks.duplicates(_open(ctx, lines, aside))

    return _report(ctx, ctx.activity(find_duplicates, state.lines, _aside(state)), "duplicates")


@graph.node(then="accounts", label="Match with orders")
def match(state: Payments, ctx: Context) -> dict[str, Any]:
    """Hold each invoice against its order; say what does not match and why."""

    def match_lines(
        lines: Ref, orders: Ref, suppliers: Ref, aside: list[str], tolerance: str
    ) -> list[Problem]:
        ordered = {row["order"]: row for row in _rows(ctx, orders)}
        known = {row["supplier"] for row in _rows(ctx, suppliers)}
        return checks.match(_open(ctx, lines, aside), ordered, known, tolerance)

    activity = ctx.activity(
        match_lines, state.lines, state.orders, state.suppliers, _aside(state), state.tolerance
    )
    return _report(ctx, activity, "matching")


@graph.node(then="history", label="Check the accounts")
def accounts(state: Payments, ctx: Context) -> dict[str, Any]:
    """Find accounts that are missing, mistyped, or not those paid last time."""

    def check_accounts(
        lines: Ref, suppliers: Ref, aside: list[str], confirmed: list[str]
    ) -> list[Problem]:
        known = {row["supplier"]: row for row in _rows(ctx, suppliers)}
        return checks.accounts(_open(ctx, lines, aside), known, confirmed)

    activity = ctx.activity(
        check_accounts, state.lines, state.suppliers, _aside(state), state.confirmed
    )
    return _report(ctx, activity, "accounts")


@graph.node(then="limits", label="Ask the bank what was paid")
def history(state: Payments, ctx: Context) -> dict[str, Any]:
    """Find invoices that the bank has paid already."""
    if not state.check_paid:
        return {"log": ["The bank was not asked what it has paid already."]}

    def ask_the_bank(lines: Ref, aside: list[str]) -> list[Problem]:
        left = _open(ctx, lines, aside)
        suppliers = sorted({line["supplier"] for line in left})
        paid = bank.payments(setting("GATEPOST_BANK_URL"), suppliers) if suppliers else []
        return checks.history(left, paid)

    return _report(ctx, ctx.activity(ask_the_bank, state.lines, _aside(state)), "history")


@graph.node(then="choose", label="Check the limits")
def limits(state: Payments, ctx: Context) -> dict[str, Any]:
    """Find invoices above what one approval may let pass."""

    def check_limits(lines: Ref, aside: list[str], limit: str) -> list[Problem]:
        return checks.limits(_open(ctx, lines, aside), limit)

    activity = ctx.activity(check_limits, state.lines, _aside(state), state.limit)
    return _report(ctx, activity, "limits")


def after_choice(state: Payments) -> Literal["reserve", "report"]:
    """Nothing to pay: nobody has to be asked."""
    return "reserve" if state.payments else "report"


@graph.node(then=after_choice, label="Choose what to pay")
def choose(state: Payments, ctx: Context) -> dict[str, Any]:
    """Choose from the open lines by due date, up to what was allowed."""

    def choose_payments(lines: Ref, aside: list[str], wishes: dict[str, Any]) -> dict[str, Any]:
        return choose_lines(_open(ctx, lines, aside), **wishes)

    wishes = {name: getattr(state, name) for name in ("due_by", "only", "at_most", "most")}
    chosen = ctx.activity(choose_payments, state.lines, _aside(state), wishes)
    count = chosen.pop("count")
    total, waiting = shown(chosen["total"]), len(chosen["waiting"])
    text = f"{count:,} to be paid, {total} {CURRENCY}; {waiting:,} wait."
    ctx.think(text)
    if count:
        ctx.suggest_title(f"{counted(count)}, {CURRENCY} {total}")
    return {
        **chosen,
        "outcome": "" if count else "Nothing was paid: no invoice is ready to be paid.",
        "log": [text],
    }


def after_asking(state: Payments) -> Literal["pay", "report"]:
    """Without a reservation nobody said yes."""
    return "pay" if state.reservation else "report"


@graph.node("reserve", then=after_asking, label="Ask, then reserve", gate=True)
def reserve_money(state: Payments, ctx: Context) -> dict[str, Any]:
    """Ask people, then set the money aside at the bank for exactly these payments."""
    count, suppliers = len(state.payments), {p["supplier"] for p in state.payments}
    message = counted(count)
    amount = f"{shown(state.total)} {CURRENCY}"
    of = state.source["lines"]
    match = "matches its order" if count == 1 else "match their orders"
    ctx.think(f"{message} of {of:,} {match} and passed every check.")
    for check in checks.TITLES:
        number = sum(problem["check"] == check for problem in state.set_aside)
        if number:
            is_not = "is not" if number == 1 else "are not"
            ctx.think(f"{number:,} {checks.title(check, number)} and {is_not} paid.")
    if state.waiting:
        wait = "waits" if len(state.waiting) == 1 else "wait"
        ctx.think(f"{len(state.waiting):,} more could be paid and {wait}.")
    try:
        done = ctx.effect(
            reserve,
            {
                "count": count,
                "total": state.total,
                "currency": CURRENCY,
                "payments": state.payments,
                "reference": f"thread {ctx.thread_id}",
            },
            gate=Gate(
                f"Pay {message}, {amount}?",
                f"The money goes to {counted(len(suppliers), 'supplier')}: it is reserved, then "
                "paid, then each supplier gets a remittance mail. You can undo the reservation "
                "and the payment, but not the mails.",
                risk="high",
            ),
        )
    except (Rejected, Expired) as no:
        return {"outcome": f"Nothing was paid: {_no(no)}.", "log": [f"Not paid: {_no(no)}."]}
    return {"reservation": done.result, "log": [f"Reserved {amount}."]}


def after_paying(state: Payments) -> Literal["mail", "report"]:
    """Nobody is told of what was not paid."""
    return "mail" if state.receipt else "report"


@graph.node("pay", then=after_paying, label="Pay")
def pay_invoices(state: Payments, ctx: Context) -> dict[str, Any]:
    """Let the bank pay what was reserved, all of it or nothing."""
    try:
        done = ctx.effect(
            pay,
            {
                "reservation": state.reservation["reservation"],
                "count": len(state.payments),
                "total": state.total,
            },
        )
    except (Rejected, Expired) as no:  # a fork asks, as does a repeat
        text = f"Nothing was paid: {_no(no)}. The money stays reserved; a rollback releases it."
        return {"outcome": text, "log": [text]}
    receipt = {name: done.result[name] for name in ("reservation", "total", "count", "paid_at")}
    text = f"Paid {counted(receipt['count'])}, {shown(receipt['total'])} {CURRENCY}."
    return {"receipt": receipt, "paid": receipt["total"], "outcome": text, "log": [text]}


@graph.node("mail", then="report", label="Mail the suppliers")
def advise(state: Payments, ctx: Context) -> dict[str, Any]:
    """Tell each supplier what was paid; this cannot be taken back."""

    def draft_mails(payments: list[Line], suppliers: Ref) -> list[Any]:
        known = {row["supplier"]: row for row in _rows(ctx, suppliers)}
        return list(drafts(payments, known))

    mails, silent = ctx.activity(draft_mails, state.payments, state.suppliers)
    for supplier in silent:
        ctx.think(f"{supplier} has no mail address and is not told.")
    if not mails:
        return {"log": ["No supplier could be told by mail."]}
    go = "goes out; it" if len(mails) == 1 else "go out; they"
    ctx.think(f"{counted(len(mails), 'mail')} {go} cannot be unsent.")
    receipt = state.receipt
    try:
        done = ctx.effect(
            mail,
            {"mails": mails, "reference": receipt["reservation"], "paid_at": receipt["paid_at"]},
        )
    except (Rejected, Expired) as no:
        return {"log": [f"The suppliers are not told: {_no(no)}."]}
    sent = done.result["mails"]
    return {"mails": sent, "log": [f"Wrote {counted(len(sent), 'mail')} to the outbox."]}


@graph.node(then=END, label="Report")
def report(state: Payments, ctx: Context) -> dict[str, Any]:
    """Write down what was paid, set aside and left waiting."""

    def draft_report(what: dict[str, Any]) -> dict[str, Ref]:
        aside = to_csv(what["set_aside"], ("line", "invoice", "supplier", "amount", "check", "why"))
        return {
            "markdown": ctx.artifact("report.md", write_report(**what).encode(), "text/markdown"),
            "set_aside": ctx.artifact("set-aside.csv", aside, CSV),
        }

    what = {
        "file": state.source["name"],
        "lines": state.source["lines"],
        "outcome": state.outcome,
        "paid": state.payments if state.receipt else [],
        "set_aside": state.set_aside,
        "waiting": state.waiting,
        "mails": state.mails,
    }
    return {"report": ctx.activity(draft_report, what), "log": ["Wrote the report."]}


__all__ = ["Payments", "graph", "mail", "pay", "refund", "release", "reserve"]
