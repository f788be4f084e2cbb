"""What a workspace's requests are, by the rows of the log: a second way to compute what pages show.

Nothing here reads a column that the product derives (`tally`, `due_seats`, `standing_args`): votes
are counted again from the decisions, sums from the arguments as they were sent.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

from tests.unit.checkpoints.builders import rows

_REQUESTS = """
SELECT a.id, a.thread_id, t.title, a.title, a.tool, a.kind, a.risk, a.status, a.args::text,
  a.terms::text, coalesce(a.decide_by, a.deadline), a.requested_at,
  coalesce(a.decided_at, a.requested_at), a.agent_version_id::text || a.policy_version
FROM gp_approval a JOIN gp_thread t ON t.id = a.thread_id WHERE a.workspace_id = %s
"""
_DECISIONS = """
SELECT approval_id, split_part(reviewer, '/', 1), verdict, args::text FROM gp_decision
WHERE workspace_id = %s ORDER BY at, id
"""
ANYONE = {"people": [], "teams": [], "count": 1}
RISKS = ("high", "medium", "low")


@dataclass(frozen=True)
class Voter:
    """Somebody who looks: `user:7`, the user name and the teams."""

    id: str
    name: str
    teams: tuple[str, ...] = ()


@dataclass
class Request:
    """One request, with the people whose approval stands and the arguments that stand."""

    id: UUID
    thread: UUID
    thread_title: str
    title: str
    tool: str
    kind: str
    risk: str
    status: str
    args: Any
    stages: list[dict[str, Any]]
    barred: list[str]
    due: datetime | None
    requested_at: datetime
    ended_at: datetime
    source: str
    voters: list[str]
    approvals: list[str]  # who approved or edited it and did not take that back; "" who rejected

    @property
    def open(self) -> bool:
        return self.status == "pending"

    @property
    def alone(self) -> bool:
        """Whether it needs opening: it is of high risk, or several stages approve it."""
        return self.risk == "high" or len(self.stages) > 1

    @property
    def needed(self) -> int:
        return sum(stage["count"] for stage in self.stages)

    @property
    def stage(self) -> dict[str, Any]:
        """The stage that the next approval is for."""
        n = len(self.voters)
        for stage in self.stages:
            if n < stage["count"]:
                return stage
            n -= stage["count"]
        return self.stages[-1]

    @property
    def shape(self) -> tuple[str, ...]:
        """What equal requests have in common; of high risk each stands alone."""
        alone = str(self.id) if self.risk == "high" else ""
        return (alone, self.source, self.tool, self.risk, re.sub("[0-9]+", "#", self.title))

    def seats(self, who: Voter, *, teams_only: bool = False) -> bool:
        """Whether the stage of now means this person."""
        if not set(self.stage["teams"]).isdisjoint(who.teams):
            return True
        if teams_only:
            return False
        return who.name in self.stage["people"] or self.stage == ANYONE | {
            "count": self.stage["count"]
        }

    def asks(self, who: Voter) -> bool:
        """Whether it is this person's turn."""
        kept_out = who.id in self.barred or who.id in self.voters
        return self.open and self.seats(who) and not kept_out

    def together(self, who: Voter) -> bool:
        """Whether this person can approve it together with others."""
        return self.asks(who) and not self.alone and self.kind == "gate"


def requests(workspace: UUID) -> dict[UUID, Request]:
    """All requests of a workspace, votes counted from the decisions."""
    results: dict[UUID, Request] = {}
    for row in rows(_REQUESTS, (workspace,)):
        *head, args, terms, due, request, ended, source = row
        payload = json.loads(terms) if terms else {}
        stages = payload.get("stages") or [ANYONE]
        results[row[0]] = Request(
            *head,
            json.loads(args),
            stages,
            payload.get("barred", []),
            due,
            request,
            ended,
            source,
            [],
            [],
        )
    last: dict[UUID, str] = {}
    edits: dict[UUID, list[Any]] = {ident: [one.args] for ident, one in results.items()}
    for ident, who, verdict, args in rows(_DECISIONS, (workspace,)):
        one = results[ident]
        if verdict == "edit":
            one.voters = [who]
            one.approvals.append(who)
            edits[ident].append(json.loads(args))
        elif verdict == "take_back":
            one.voters = [voter for voter in one.voters if voter != who]
            one.approvals.pop()
            if last.get(ident) == "edit":
                edits[ident].pop()
        elif verdict == "approve" and who not in one.voters:
            one.voters.append(who)
            one.approvals.append(who)
        elif verdict == "reject":
            one.approvals.append("")
        last[ident] = verdict
    for ident, args in edits.items():
        results[ident].args = args[-1]
    return results


def stacks(listed: list[Request], sort: str) -> dict[str, list[Request]]:
    """{id of the first: equal requests} in an order."""
    keys: dict[str, Callable[[Request], Any]] = {
        "risk": lambda r: (RISKS.index(r.risk), r.requested_at, r.id),
        "age": lambda r: (r.requested_at, r.id),
        "deadline": lambda r: (r.due is None, r.due or r.requested_at, r.requested_at, r.id),
    }
    by_shape: dict[tuple[str, ...], list[Request]] = {}
    for request in sorted(listed, key=keys[sort]):
        by_shape.setdefault(request.shape, []).append(request)
    return {str(alike[0].id): alike for alike in by_shape.values()}


def money(args: Any) -> tuple[Decimal, str] | None:
    """(amount, currency) of arguments as the populations make them."""
    payment = args if "amount" in args else args.get("payment", args)
    if "amount" not in payment:
        return None
    return Decimal(payment["amount"]), payment.get("currency", "")


def shown(number: Decimal, currency: str) -> str:
    """An amount as people write it."""
    sign = {"EUR": "€", "USD": "$"}.get(currency, "")
    digits = f"{abs(number):,f}"
    amount = f"{'-' if number < 0 else ''}{sign}{digits}"
    return amount if sign or not currency else f"{amount} {currency}"


def amount(args: Any) -> str:
    """What a row says its request is about."""
    if result := money(args):
        return shown(*result)
    lists = [(name, value) for name, value in args.items() if isinstance(value, list)]
    return f"{len(lists[0][1]):,} {lists[0][0]}" if lists and len(lists[0][1]) > 1 else ""


def total(many: Iterable[Request]) -> tuple[str, str]:
    """("the sum per currency", "least – most" of one currency); empty where one has no amount."""
    amounts = [money(one.args) for one in many]
    if None in amounts or not amounts:
        return "", ""
    by_currency: dict[str, list[Decimal]] = {}
    for number, currency in filter(None, amounts):
        by_currency.setdefault(currency, []).append(number)
    total = " + ".join(shown(sum(n, Decimal(0)), c) for c, n in by_currency.items())
    [(currency, numbers), *others] = by_currency.items()
    spread = not others and min(numbers) != max(numbers)
    span = f"{shown(min(numbers), currency)} – {shown(max(numbers), currency)}" if spread else ""
    return total, span
