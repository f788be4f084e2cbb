"""Requests to pay, as an agent without a worker makes them: what the decision page has to show."""

from __future__ import annotations

from typing import Any
from uuid import UUID, uuid4

from approvals import gates, queries
from approvals.queries import ApprovalRow
from approvals.rules.terms import Seat, Terms
from checkpoints import store
from checkpoints.states import EventKind
from tests.unit.dashboard import scene

from .house import House

TOOL = "bank.transfer.create"
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "creditor": {"type": "string", "minLength": 2},
        "iban": {"type": "string", "minLength": 15},
        "amount": {"type": "string", "pattern": "^[0-9]+[.][0-9]{2}$"},
        "currency": {"enum": ["EUR", "USD"]},
        "reference": {"type": "string"},
        "urgent": {"type": "boolean"},
    },
    "required": ["creditor", "iban", "amount", "currency"],
    "additionalProperties": False,
}
OLD = {
    "creditor": "Nordwind Logistics GmbH",
    "iban": "DE19500105175407324931",
    "amount": "12950.00",
    "currency": "EUR",
    "reference": "RE 4390 / PO 7610",
    "urgent": False,
}
NEW = OLD | {
    "iban": "LT603250042177160248",
    "amount": "48200.00",
    "reference": "RE 4471 / PO 7781",
}
REASONS = (
    "The invoice fits the order and the delivery note. The IBAN on the invoice is the one in the "
    "vendor file since 15 November.",
    "I found no call note on that change, so I ask two people.",
)
TWO = Terms(
    stages=(Seat(), Seat(people=("second_manager",), teams=("finance-leads",))),
    four_eyes=True,
    on_expiry="escalate",
    escalate_to=Seat(teams=("treasury",)),
    escalate_for=3600,
    undo_window=30,
    rule="Payments over 25,000.00 EUR need two people, one of them from finance-leads.",
)


def payer(undo: str = "") -> UUID:
    """The agent; its queue has no worker, so that nothing happens behind the page's back."""
    return store.announce_version(
        agent="ap-payments",
        version=2,
        fingerprint="a" * 64,
        label="AP payments",
        description="Pays invoices",
        schema_version=1,
        schema=scene.SCHEMA,
        channels=scene.CHANNELS,
        graph=scene.GRAPH,
        tools={TOOL: {"schema": SCHEMA, "effect": True, "undo": undo}},
        queue="nobody",
    )


def pay(house: House, **more: Any) -> ApprovalRow:
    """One request to pay."""
    payload: dict[str, Any] = {
        "tool": TOOL,
        "args": NEW,
        "title": "Pay invoice 4471 to Nordwind Logistics GmbH",
        "undo": "",
        "schema": SCHEMA,
        **more,
    }
    return scene.waiting(house.cast.workspace, payer(), **payload)


def reviewer(house: House, name: str) -> gates.Reviewer:
    """A person of the cast as the gates name them."""
    return gates.Reviewer(house.cast.actor(name).id, name, name)


def decide(house: House, row: ApprovalRow, who: str, verdict: str, **more: Any) -> ApprovalRow:
    """Decide what stands, past the browser."""
    now = queries.approval(row.id, workspace=row.workspace)
    return gates.decide(
        row.id,
        workspace=row.workspace,
        reviewer=reviewer(house, who),
        verdict=verdict,
        proposal_hash=now.standing_hash,
        **more,
    )


def reply(row: ApprovalRow, text: str) -> None:
    """The agent answers the newest question."""
    request = [v for v in queries.votes(row.id) if v.verdict == "respond"][-1]
    payload = {"approval": str(row.id), "decision": str(request.decision), "text": text}
    event = store.NewEvent(EventKind.APPROVAL_REPLIED, payload, "worker:1:boot")
    store.add_event(row.thread, event)


def big_payment(house: House) -> ApprovalRow:
    """A payment to a new account that needs two people; one has asked back and approved."""
    before = pay(house, args=OLD, title="Pay invoice 4390 to Nordwind Logistics GmbH")
    decide(house, before, "manager", "approve")
    row = pay(
        house,
        description="Invoice 4471 of 3 November for freight, order 7781.",
        reasons=REASONS,
        risk="high",
        expires_in=4200.0,
        terms=TWO,
        policy_version=f"{uuid4()}@3",
    )
    decide(house, row, "manager", "respond", comment="Did the vendor announce the new account?")
    reply(row, "Yes, by e-mail on 14 November from ar@nordwind.example. The mail passed DKIM.")
    return decide(house, row, "manager", "approve", comment="checked with vendor desk")
