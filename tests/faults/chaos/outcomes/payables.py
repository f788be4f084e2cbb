"""The files of a payments task, and by how they were made what must come of each line; pure.

Of a few invoices most are in order. One cannot be read, one is there twice, one names a doubtful
account, and one has a fault that differs from task to task: the bank paid it before, it does not
match its order, it is above the limit, or nobody knows the supplier.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from tests.faults.chaos.tasks import file_name

BROKEN = ("12.3.4", "", "-7.00", "see note")
BEFORE_KEY = "paid-before-the-chaos"
CHECKS = ("reading", "duplicates", "matching", "accounts", "history", "limits")
INVOICE = ("invoice", "supplier", "name", "order", "issued", "due", "amount", "currency", "account")
ORDER = ("order", "supplier", "amount", "currency")
SUPPLIER = ("supplier", "name", "account", "mail")

Row = dict[str, str]


@dataclass(frozen=True)
class Line:
    """A line of invoices; `check` sets it aside, and its reason has to name `named`."""

    row: Row
    number: int
    check: str = ""
    named: str = ""


def written(cents: int) -> str:
    """Whole cents as a decimal string."""
    return f"{cents // 100}.{cents % 100:02}"


def shown(cents: int) -> str:
    """Whole cents as people read them."""
    return f"{cents // 100:,}.{cents % 100:02}"


def in_cents(text: str) -> int:
    """Whole cents of a decimal string with two places."""
    whole, _, rest = text.partition(".")
    return int(whole) * 100 + int(rest)


def iban(number: int) -> str:
    """A German account whose check digits fit (ISO 13616)."""
    inner = f"99900{number:013}"
    return f"DE{98 - int(f'{inner}131400') % 97:02}{inner}"


def mistyped(account: str) -> str:
    """The same account with other check digits."""
    return f"DE{(int(account[2:4]) + 1) % 100:02}{account[4:]}"


def suppliers(task: int) -> list[Row]:
    """Two, of every fifth task three, the third of whom has no mail address."""
    return [
        {
            "supplier": f"S-{task}-{n}",
            "name": f"Supplier {task}.{n} Ltd",
            "account": iban(task * 10 + n),
            "mail": "" if n == 3 else f"accounts-{n}@supplier-{task}.example",
        }
        for n in range(1, 4 if task % 5 == 0 else 3)
    ]


def before(task: int) -> Row | None:
    """The invoice that the bank has paid before the chaos, of every fourth task."""
    if task % 4:
        return None
    known = suppliers(task)[0]
    return {
        "to": known["name"], "due": "2026-10-01", "amount": written(4_000 + task % 500),
        "account": known["account"], "invoice": f"OLD-{task}", "supplier": known["supplier"],
    }  # fmt: skip


def lines(task: int) -> list[Line]:
    """All lines of the invoices, in the order of the file; the first is line 2."""
    known = suppliers(task)
    unequal = task % 7 == 3  # what is there twice differs in its amount: neither is paid

    def invoice(number: str, index: int, amount: str, of: int = 0, **other: str) -> Row:
        of = of % len(known)
        return {
            "invoice": number, "supplier": known[of]["supplier"], "name": known[of]["name"],
            "order": f"PO-{task}-{index}", "issued": "2026-10-15",
            "due": f"2026-12-{28 - 3 * index:02}", "amount": amount, "currency": "EUR",
            "account": known[of]["account"], **other,
        }  # fmt: skip

    good = [
        invoice(f"RE {task}-{n}", n, written(1_000 + 7 * (task % 500) + 1_300 * n), n)
        for n in range(2 + task % 3)
    ]
    again = {**good[0], "invoice": f"re{task}0"}
    if unequal:
        again["amount"] = written(in_cents(again["amount"]) + 1)
    broken = invoice(f"KO-{task}", 5, BROKEN[task % 4])
    account = known[1]["account"]
    doubtful = mistyped(account) if task % 2 else iban(task * 10 + 7)
    aside = invoice(f"AC-{task}", 6, written(2_000 + task % 500), 1, account=doubtful)
    odd, check, named = _odd(task, invoice)
    placed = [
        (good[0], "duplicates" if unequal else "", "2, 5"), (broken, "reading", broken["amount"]),
        (good[1], "", ""), (again, "duplicates", "2, 5" if unequal else "ine 2"),
        (aside, "accounts", doubtful), (odd, check, named), *((row, "", "") for row in good[2:]),
    ]  # fmt: skip
    return [Line(row, n, check, named) for n, (row, check, named) in enumerate(placed, start=2)]


def _odd(task: int, invoice: object) -> tuple[Row, str, str]:
    assert callable(invoice)
    if old := before(task):
        return invoice(old["invoice"], 7, old["amount"]), "history", shown(in_cents(old["amount"]))
    if task % 4 == 1:
        return invoice(f"OFF-{task}", 7, "50.01"), "matching", "50.00"
    if task % 4 == 2:
        return invoice(f"BIG-{task}", 7, "25000.01"), "limits", "25,000.00"
    nobody = f"S-{task}-9"
    return invoice(f"WHO-{task}", 7, "60.00", supplier=nobody), "matching", nobody


def orders(task: int) -> list[Row]:
    """An order for each invoice but the repeated one; that of OFF is for a cent less."""
    results: dict[str, Row] = {}
    for line in lines(task):
        row = line.row
        amount = "50.00" if row["invoice"] == f"OFF-{task}" else row["amount"]
        if line.check == "reading":
            amount = "70.00"
        results.setdefault(row["order"], {**row, "amount": amount})
    return [{name: row[name] for name in ORDER} for row in results.values()]


def paid(task: int) -> list[Row]:
    """The payments that a reviewer is shown and the bank is told: open lines, by due date."""
    clean = [line for line in lines(task) if not line.check]
    return [
        {"to": line.row["name"], **{name: line.row[name] for name in
                                    ("due", "amount", "account", "invoice", "supplier")}}
        for line in sorted(clean, key=lambda line: (line.row["due"], line.number))
    ]  # fmt: skip


def set_aside(task: int) -> list[Line]:
    """The lines that are not paid, in the order of the checks."""
    return sorted(
        (line for line in lines(task) if line.check),
        key=lambda line: (CHECKS.index(line.check), line.number),
    )


def total(payments: Iterable[Mapping[str, str]]) -> int:
    """In cents."""
    return sum(in_cents(one["amount"]) for one in payments)


def mails(task: int) -> list[dict[str, object]]:
    """{"supplier", "to", "name", "total", "payments"} of each mail, by supplier."""
    results: list[dict[str, object]] = []
    for known in sorted(suppliers(task), key=lambda one: one["supplier"]):
        theirs = [one for one in paid(task) if one["supplier"] == known["supplier"]]
        if theirs and known["mail"]:
            results.append({
                "supplier": known["supplier"], "to": known["mail"], "name": known["name"],
                "total": total(theirs), "payments": theirs,
            })  # fmt: skip
    return results


def as_csv(rows: Sequence[Mapping[str, str]], names: Sequence[str]) -> bytes:
    """A file as people bring it."""
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, names, extrasaction="ignore")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().encode()


VALUES: dict[str, object] = {}  # what the start form takes beside the files


def files(task: int) -> dict[str, tuple[str, bytes]]:
    """{field of the start form: (name, content)}."""
    made = {
        "file": ("invoices", as_csv([line.row for line in lines(task)], INVOICE)),
        "orders_file": ("orders", as_csv(orders(task), ORDER)),
        "suppliers_file": ("suppliers", as_csv(suppliers(task), SUPPLIER)),
    }
    return {field: (file_name(what, task), raw) for field, (what, raw) in made.items()}
