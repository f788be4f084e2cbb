"""Seeded proposals with what an agent had read before, and the truth of each of their values.

Nothing here knows how values are compared: true values are copied out of what is recorded, in the
writings that agents use; a false one is made so that no recorded output holds it.
"""

from __future__ import annotations

import json
import random
from dataclasses import dataclass, field
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

NAMES = (
    "Nordwind Logistics GmbH", "Papeterie Lenoir SARL", "Hafenkran Service AG", "Kessel & Rohr KG",
    "De Vries Verpakkingen B.V.", "Alpenblick Catering", "Ostsee Werft eG", "Linden Druck OHG",
    "Müller & Söhne", "Fjord Data AS", "Bright Lane Ltd", "Azul Energia S.A.",
)  # fmt: skip
CITIES = ("Hamburg", "Rotterdam", "Graz", "Lyon", "Bergen", "Porto")


@dataclass
class Call:
    """A recorded call of a tool, or of a model; files are (name, media type, text)."""

    tool: str
    args: Any
    result: Any
    files: list[tuple[str, str, str]] = field(default_factory=list)
    model: bool = False


@dataclass
class Case:
    """A proposal, what was recorded and entered before it, and the truth by path.

    `truth` has the paths of values that are recorded, and of those that are computed of them.
    `planted` is the path of the one false value, empty where there is none, and `how` its kind.
    """

    proposal: dict[str, Any]
    calls: list[Call]
    entered: dict[str, Any]
    truth: set[str]
    computed: set[str]
    entered_paths: set[str]
    planted: str = ""
    how: str = ""


def _invoice(dice: random.Random, n: int) -> dict[str, str]:
    due = date(2026, 1, 1) + timedelta(days=dice.randrange(300))
    digits = "".join(dice.choices("0123456789", k=18))
    return {
        "invoice": f"{dice.choice(['RE', 'F', 'INV', 'HAF'])}-{dice.randrange(1000, 9999)}-{n}",
        "supplier": dice.choice(NAMES),
        "order": f"PO-{dice.randrange(10_000, 99_999)}{n}",
        "amount": f"{dice.randrange(10_100, 9_999_999) / 100:.2f}",
        "currency": "EUR",
        "account": f"DE{dice.randrange(10, 99)}{digits}",
        "due": due.isoformat(),
        "quantity": str(dice.randrange(1, 9)),
        "city": dice.choice(CITIES),
    }


def _as_json(dice: random.Random, invoices: list[dict[str, str]]) -> Call:
    lines = [dict(one) for one in invoices]
    for line in lines:
        if dice.random() < 0.5:
            line["amount"] = float(line["amount"])  # type: ignore[assignment]
        line["quantity"] = int(line["quantity"])  # type: ignore[assignment]
    return Call("read_invoices", {"folder": "inbox"}, {"lines": lines, "page": 1})


def _as_table(dice: random.Random, invoices: list[dict[str, str]]) -> Call:
    mark = dice.choice([",", ";"])
    heading = mark.join(invoices[0])
    text = "\n".join([heading, *(mark.join(one.values()) for one in invoices)]) + "\n"
    file = ("invoices.csv", "text/csv", text)
    return Call("export_invoices", {"month": "May"}, {"rows": len(invoices)}, [file])


def _as_words(dice: random.Random, invoices: list[dict[str, str]]) -> Call:
    lines = [
        f"Invoice {one['invoice']} by {one['supplier']} of {one['city']}: "
        f"EUR {Decimal(one['amount']):,.2f} for order {one['order']}, account {one['account']}, "
        f"due {one['due']}. quantity: {one['quantity']}"
        for one in invoices
    ]
    return Call("fetch_mail", {"folder": "invoices"}, {"body": "\n".join(lines), "unread": 4})


def _written(dice: random.Random, key: str, value: str) -> Any:
    """A true value as an agent may write it."""
    if key == "amount":
        amount = Decimal(value)
        return dice.choice([value, float(amount), f"{amount:,.2f}", f"{amount:,.2f} EUR"])
    if key == "account" and dice.random() < 0.3:
        return " ".join(value[n : n + 4] for n in range(0, len(value), 4))
    if key == "quantity":
        return int(value)
    return value


FALSE = (
    "only the model", "echo of a call", "one digit", "another line's account", "longer number",
    "left branch of words", "other unit", "other day", "short number", "true by itself",
)  # fmt: skip


def case(seed: int, *, false: bool) -> Case:
    """One proposal: of 2 to 6 lines out of what three calls recorded."""
    dice = random.Random(seed)
    invoices = [_invoice(dice, n) for n in range(dice.randrange(4, 12))]
    shape = dice.choice([_as_json, _as_table, _as_words])
    calls = [shape(dice, invoices)]
    in_words = shape is _as_words
    calls.append(Call("look_up", {"q": "limits"}, {"limit": 5, "note": "Nothing else is open."}))
    ceiling = f"{dice.randrange(1_000_000, 9_000_000)}"
    entered = {"goal": f"Pay what is due, at most {int(ceiling):,} in all", "ceiling": ceiling}
    chosen = dice.sample(invoices, dice.randrange(2, min(len(invoices), 6) + 1))
    keys = ["invoice", "supplier", "amount", "account", "due", "order"]
    if not in_words:
        keys += ["quantity", "currency"]
    lines = [{key: _written(dice, key, one[key]) for key in keys} for one in chosen]
    total = sum((Decimal(one["amount"]) for one in chosen), Decimal(0))
    proposal: dict[str, Any] = {
        "payments": lines,
        "total": f"{total:.2f}",
        "count": len(lines),
        "at_most": ceiling,
    }
    own = " and ".join(str(line["invoice"]) for line in lines)
    calls.append(Call("model", {"prompt": "Which are due?"}, f"Pay {own}.", model=True))
    truth = {f"$.payments[{n}].{key}" for n in range(len(lines)) for key in keys}
    result = Case(proposal, calls, entered, truth, {"$.total", "$.count"}, {"$.at_most"})
    if false:
        _plant(dice, result, chosen, FALSE[seed // 4 % len(FALSE)])
    return result


def _plant(dice: random.Random, case: Case, chosen: list[dict[str, str]], how: str) -> None:
    n = dice.randrange(len(chosen))
    line, invoice = case.proposal["payments"][n], chosen[n]
    key, value = "amount", f"{Decimal(invoice['amount']) + Decimal('1111.37'):.2f}"
    match how:
        case "only the model":
            case.calls.append(Call("model", {"prompt": "How much?"}, f"It is {value}.", model=True))
        case "echo of a call":
            case.calls.append(
                Call("check_payment", {"amount": value}, {"amount": value, "valid": True})
            )
        case "one digit":
            key, account = "account", invoice["account"]
            at = dice.randrange(6, len(account))
            value = account[:at] + str((int(account[at]) + 1) % 10) + account[at + 1 :]
        case "another line's account":
            key, other = "account", chosen[n - 1]
            value = other["account"]
        case "longer number":
            case.calls.append(
                Call("look_up", {"q": "ids"}, {"id": f"X{value}9", "see": f"7{value}"})
            )
        case "left branch of words":
            key, value = "supplier", invoice["supplier"].split()[0] + " Holding"
            case.calls.append(Call("look_up", {}, {"text": f"Other{value}s are listed here"}))
        case "other unit":
            value = f"{Decimal(value):,.2f} EUR"
            bare = value.removesuffix(" EUR")
            case.calls.append(Call("look_up", {}, {"text": f"A budget of USD {bare} was named"}))
        case "other day":
            key, value = "due", (date.fromisoformat(invoice["due"]) + timedelta(400)).isoformat()
        case "short number":
            key, value = "copies", 5  # type: ignore[assignment]
        case "true by itself":
            key, value = "urgent", True  # type: ignore[assignment]
    line[key] = value
    case.planted, case.how = f"$.payments[{n}].{key}", how
    case.truth.discard(case.planted)
    if key == "amount":
        case.computed.clear()


def as_text(case: Case) -> str:
    """A case for the message of a failing test."""
    return json.dumps({"how": case.how, "proposal": case.proposal}, indent=1, default=str)
