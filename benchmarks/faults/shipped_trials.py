"""The shipped agents among wasted work: real files, gates, a bank, and what stands at the end.

Beside the calls that the counting server has seen, the work of the agents themselves is counted:
activities and effects that were started, as the record has them. With saving off a thread is
cancelled with undo, as a person does it, before its task begins again. A person approves each
request at once, so that no wait of people is in it.
"""

from __future__ import annotations

import json
import random
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import UUID, uuid4

from benchmarks.report import tidy

from .charged_server import MODEL, Charging, Fault
from .trials import ARMS, Field, Trial

if TYPE_CHECKING:
    from checkpoints.views import ActivityRow, ThreadRow
    from dashboard.identity.permissions import Actor

ROWS = 240  # of a table to be explained
DAYS, SHOPS = 28, ("harbour", "market", "station")
RACES = 100  # so often a cancel is asked for anew while its thread moves
SUPPLIERS = ("S-101", "S-102")  # of the sample's; each trial has an invoice of either
TOLL = "fetch"  # the activity in front of each node, which the counting server counts


@dataclass(frozen=True, slots=True)
class Kind:
    """What one shipped agent is given, and how its results are found by their trials."""

    steps: int
    tasks: int
    files: Callable[[str], dict[str, str]]  # {field: content}
    wishes: Mapping[str, Any]
    n_results: Callable[[str], int]  # results of a trial that stand now


def label(trial: str) -> str:
    """How the files of a trial are called, and so what its results say."""
    return trial.replace("/", "-")


def table(trial: str) -> dict[str, str]:
    """Waiting times of shops: a table to be explained."""
    chance = random.Random(trial.rpartition("/")[2])
    lines = ["day,shop,staff,minutes waited"]
    for n in range(ROWS):
        shop = n % len(SHOPS)
        staff = chance.randint(2, 6)
        waited = 4 + 3 * shop + 12 / staff + chance.random()
        lines.append(f"2026-{1 + n % 12:02}-{1 + n % DAYS:02},{SHOPS[shop]},{staff},{waited:.1f}")
    return {"file": "\n".join(lines) + "\n"}


def invoices(trial: str) -> dict[str, str]:
    """Two invoices that can be paid, one that is there twice, one without an order; the orders."""
    from gatepost_agents.payments.invoices import DATA, from_csv

    known = {row["supplier"]: row for row in from_csv((DATA / "suppliers.csv").read_bytes())}
    lines, orders = ["invoice,supplier,order,due,amount,account"], ["order,supplier,amount"]
    number = label(trial)
    for n, supplier in enumerate(SUPPLIERS):
        account = known[supplier]["account"]
        orders.append(f"PO-{n},{supplier},{12 + n}.50")
        lines.append(f"{number}{'ab'[n]},{supplier},PO-{n},2026-11-30,{12 + n}.50,{account}")
    lines += [lines[1], f"{number}c,{SUPPLIERS[0]},PO-9,2026-11-30,9.00,{account}"]
    return {"file": "\n".join(lines) + "\n", "orders_file": "\n".join(orders) + "\n"}


def published(trial: str) -> int:
    """Reports in the published folder that rest on the file of a trial."""
    from django.conf import settings

    reports = Path(settings.GATEPOST_PUBLISHED).glob("*/*/report.md")
    return sum(f"{label(trial)}-file.csv" in report.read_text() for report in reports)


def paid(trial: str) -> int:
    """How often each invoice of a trial is paid, as the bank says; -1 when they differ."""
    from django.conf import settings

    from gatepost_agents.payments import bank

    results = Counter(
        one["invoice"]
        for one in bank.payments(settings.GATEPOST_BANK_URL, SUPPLIERS)
        if one["invoice"][:-1] == label(trial)
    )
    counts = {results.pop(f"{label(trial)}{sign}", 0) for sign in "ab"}
    return counts.pop() if len(counts) == 1 and not results else -1


SHIPPED = {
    "market-research": Kind(
        6, 30, table, {"measure": "minutes waited", "question": "Who waits?"}, published
    ),
    "payments": Kind(12, 30, invoices, {}, paid),
}


def person(role: str) -> Actor:
    """Somebody with one role in the bench's workspace."""
    from django.contrib.auth import get_user_model

    from benchmarks.ground import workspace
    from checkpoints import store
    from dashboard.identity.permissions import actor_of

    user = get_user_model()._default_manager.create_user(f"{role}-{uuid4().hex[:8]}")
    store.grant(workspace(), user.pk, role, actor="bench:1")
    return actor_of(user)


def is_own(row: ActivityRow) -> bool:
    """Answer True for a call that the counting server hasn't seen, such as a model's of a node."""
    if row.kind == "model":
        return (row.usage or {}).get("model") != MODEL
    return row.kind in ("activity", "effect") and row.tool != TOLL


@dataclass(frozen=True, slots=True)
class Own:
    """What the record of an arm says: the agents' own calls, effects, and effects taken back."""

    calls: int
    effects: int
    taken_back: int


class Shipped(Field):
    """All trials of one shipped agent; `book` is the ledger of the bank."""

    def __init__(
        self, server: Charging, name: str, tasks: int, faults: dict[str, Fault], book: Path
    ) -> None:
        self.kind = SHIPPED[name]
        super().__init__(server, self.kind.steps, tasks, faults, name)
        self.agent = f"bench-{name}"
        self.decided: Counter[str] = Counter()
        self._book = book
        self._faulty = set(faults)

    @cached_property
    def _operator(self) -> Actor:
        return person("operator")

    @cached_property
    def _reviewer(self) -> Actor:
        return person("reviewer")

    def work(self) -> None:
        """As for any field; the people are there before servers' threads ask for them."""
        _ = self._operator, self._reviewer
        super().work()

    def _input(self, trial: Trial) -> dict[str, Any]:
        from django.core.files.uploadedfile import SimpleUploadedFile

        from dashboard.kit.pages.uploads import upload

        refs = {
            field: upload(
                self._operator,
                SimpleUploadedFile(f"{label(trial.name)}-{field}.csv", content.encode()),
            )
            for field, content in self.kind.files(trial.name).items()
        }
        return {**self.kind.wishes, **refs}

    def _give_up(self, thread: UUID) -> None:
        from dashboard.errors import Conflict
        from dashboard.threads.cancel import cancel

        for _ in range(RACES):
            try:
                cancel(self._operator, thread, "saving is off", undo_effects=True)
                return
            except Conflict:
                time.sleep(0.01)  # it moved meanwhile
        raise RuntimeError(f"the thread {thread} could not be cancelled")

    def _attend(self, trial: Trial, row: ThreadRow) -> None:
        from approvals import queries as requests
        from checkpoints.states import Status
        from dashboard.approvals.decide import DECIDE, Decide
        from dashboard.errors import Conflict

        if row.status is not Status.WAITING:
            super()._attend(trial, row)
            return
        for request in requests.for_thread(row.id, open_only=True):
            try:
                wanted = Decide(verdict="approve", proposal_hash=request.proposal_hash)
                DECIDE.run(self._reviewer, wanted, request.id)
            except Conflict:
                continue  # it moved meanwhile
            self.decided[trial.arm] += 1

    # ---- what it took ----

    @cached_property
    def _own(self) -> dict[str, Own]:
        """What the record says of each trial, once all have ended."""
        from checkpoints import queries

        results = {}
        for trial in self.trials.values():
            mine = [
                row for thread in trial.threads for row in queries.activities(thread) if is_own(row)
            ]
            effects = [row for row in mine if row.kind == "effect"]
            results[trial.name] = Own(
                sum(row.attempts for row in mine),
                sum(row.attempts for row in effects),
                sum(row.state == "compensated" for row in effects),
            )
        return results

    def _of(self, arm: str) -> list[Own]:
        return [self._own[c.name] for c in self.trials.values() if c.arm == arm]

    @cached_property
    def _needed(self) -> int:
        """Calls of a trial that met no fault."""
        return min(
            self._own[c.name].calls for c in self.trials.values() if c.task not in self._faulty
        )

    def own_wasted(self, arm: str) -> int:
        """Calls of the agents' own that were made beyond need."""
        mine = self._of(arm)
        return sum(own.calls for own in mine) - self._needed * len(mine)

    @cached_property
    def n_results(self) -> dict[str, Counter[int]]:
        """{arm: how many trials have so many results that stand}."""
        return {
            arm: Counter(self.kind.n_results(c.name) for c in self.trials.values() if c.arm == arm)
            for arm in ARMS
        }

    @property
    def right(self) -> bool:
        """Whether one result of each task stands in either arm, and resuming asked nobody twice."""
        tasks = len(self.trials) // len(ARMS)
        once = all(item == Counter({1: tasks}) for item in self.n_results.values())
        return once and self.decided["resume"] == tasks and self._settled

    @property
    def _settled(self) -> bool:
        """Whether the bank's ledger has one payment per task, and nothing reserved beside them."""
        if self.name != "payments":
            return True
        done = self._ledger()
        paid = done["pay"] - done["refund"]
        return paid == done["reserve"] - done["release"] == len(self.trials)

    def more(self) -> dict[str, Any]:
        """The agents' own work, and what people and the outside world noticed."""
        tasks = len(self.trials) // len(ARMS)
        wasted, by_restart = self.own_wasted("resume"), self.own_wasted("restart")
        payload = {
            "own_calls": {
                "needed": self._needed * tasks,
                "wasted": wasted,
                "wasted_by_restart": by_restart,
                "spared_percent": tidy(100.0 * (1 - wasted / by_restart)) if by_restart else None,
            },
            "effects": {arm: sum(own.effects for own in self._of(arm)) for arm in ARMS},
            "taken_back": {arm: sum(own.taken_back for own in self._of(arm)) for arm in ARMS},
            "approvals": {arm: self.decided[arm] for arm in ARMS},
            "stands_once": {arm: self.n_results[arm][1] for arm in ARMS},
        }
        if self.name == "payments":
            payload |= {"mails": self._mails(), "ledger": dict(self._ledger())}
        return payload

    def _mails(self) -> dict[str, int]:
        """{arm: mails in the outbox}: none can be taken back."""
        from django.conf import settings

        texts = [mail.read_text() for mail in Path(settings.GATEPOST_OUTBOX).glob("*.eml")]
        return {arm: sum(f" {arm}-payments" in text for text in texts) for arm in ARMS}

    def _ledger(self) -> Counter[str]:
        """{operation: how often the bank carried it out}, in both arms."""
        lines = [json.loads(line) for line in self._book.read_text().splitlines()]
        return Counter(line["op"] for line in lines if line["outcome"] == "done")
