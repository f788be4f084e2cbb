"""The source of each value of a proposal, in words and with the page that shows it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final
from uuid import UUID

from django.urls import reverse

from approvals.queries import ApprovalRow, WordsRow
from approvals.rules.receipts.receipts import receipts
from approvals.rules.receipts.sources import Origin, Receipt
from checkpoints import queries
from checkpoints.addresses import thread_address
from checkpoints.queries import EntryRow, RecordedRow
from checkpoints.states import EventKind
from checkpoints.views import ThreadRow
from dashboard.identity.people import people
from dashboard.wording.sentences import person
from dashboard.wording.text import number

from .receipt_material import Material, read_material
from .receipt_shape import ProposalReceipts, ReceiptValue

LINES: Final = 20
NAMES: Final = 3
LONG: Final = 2_000  # characters of a text that a large output holds, if any does
_DAMAGED: Final = "The record of this thread is damaged: no value is compared with it."


def receipts_of(row: ApprovalRow, thread: ThreadRow) -> ProposalReceipts | None:
    """The receipts of what stands now; None of a request that is no proposal of an agent's."""
    if not row.gate or not isinstance(row.shown_args, dict | list):
        return None
    if thread.damage is not None:
        return ProposalReceipts(
            summary="",
            unread=_DAMAGED,
            recorded=0,
            computed=0,
            people=0,
            agent=0,
            more=0,
            values=[],
        )
    material = read_material(row)
    result = receipts(row.shown_args, material.outputs, material.entries)
    values = _Words(material, result.values).values()
    counts: Counter[str] = Counter(value.origin for value in values)
    return ProposalReceipts(
        summary=summary(values, reported=thread.external is not None),
        unread=unread(material, result.more),
        recorded=counts[Origin.RECORDED],
        computed=counts[Origin.COMPUTED],
        people=counts[Origin.PERSON],
        agent=counts[Origin.AGENT],
        more=result.more,
        values=values,
    )


class _Words:
    """The receipts of a proposal in words; where calls stand in their logs is read in one query."""

    def __init__(self, material: Material, receipts: Sequence[Receipt]) -> None:
        self._material, self._receipts = material, receipts
        used = {one.spot.source.ident for one in receipts if one.spot is not None}
        calls = [call for ident, call in material.calls.items() if ident in used]
        self._at = queries.recorded_at(calls)
        actors = [entry.actor for entry in material.points.values()]
        self._people = people([*actors, *(at.actor or "" for at in self._at.values())])

    def values(self) -> list[ReceiptValue]:
        """One for each value, in the order of the proposal."""
        return [self._value(one) for one in self._receipts]

    def _value(self, receipt: Receipt) -> ReceiptValue:
        value = ReceiptValue(
            path=receipt.path,
            origin=receipt.origin.value,
            source="",
            by="",
            activity=None,
            thread=None,
            checkpoint=None,
            event=None,
            source_path="",
            url="",
            count=receipt.count,
            lines=list(receipt.lines[:LINES]),
            note=_note(receipt),
        )
        spot = receipt.spot
        if spot is None:
            if receipt.lines:
                value.source = _computed(receipt)
            is_long = isinstance(receipt.value, str) and len(receipt.value) > LONG
            if is_long and receipt.origin is Origin.AGENT and self._material.unread_calls:
                # Whether it is that output's is not known: it must not be called the agent's own.
                value.origin, value.note = "unread", "Too large to look up in the recorded outputs."
            return value
        path = f"{spot.file}, {spot.path}" if spot.file else spot.path
        ident = spot.source.ident
        if ident in self._material.calls:
            return self._of_call(value, receipt, ident, path)
        if ident in self._material.verdicts:
            return _of_verdict(value, self._material.verdicts[ident])
        return self._of_entry(value, self._material.points[ident])

    def _of_call(
        self, value: ReceiptValue, receipt: Receipt, ident: UUID, path: str
    ) -> ReceiptValue:
        call, at = self._material.calls[ident], self._at.get(ident)
        made = _computed(receipt) if receipt.origin is Origin.COMPUTED else ""
        where = f"{call.tool or call.node}, {path}"
        value.thread, value.activity, value.source_path = call.thread, ident, path
        value.source = f"{made} in {where}" if made else where
        if at is not None:
            value.checkpoint, value.event = at.checkpoint, at.seq
        value.url = thread_address(call.thread, checkpoint=value.checkpoint, event=value.event)
        settled = at is not None and at.kind == EventKind.EFFECT_SETTLED
        if call.exchanged or settled:
            return self._typed_result(value, at)
        return value

    def _typed_result(self, value: ReceiptValue, at: RecordedRow | None) -> ReceiptValue:
        """Of a counterfactual, and of an effect whose outcome was unknown: a person typed it."""
        actor = (at and at.actor) or ""
        # Where the typed result was used again, a worker wrote it down.
        value.by = person(actor, self._people) if actor.startswith("user:") else "a person"
        value.origin = "person"
        value.source = f"{value.by}, as the result of {value.source}"
        return value

    def _of_entry(self, value: ReceiptValue, entry: EntryRow) -> ReceiptValue:
        value.by = person(entry.actor, self._people, imported=entry.imported)
        how = {"edit": "an edit", "fork": "a fork"}.get(entry.source, "the input")
        if entry.source == "input" and entry.number:
            how = "a message"
        value.source = f"{value.by}, in {how}"
        value.thread, value.checkpoint = entry.thread, entry.number
        value.url = thread_address(entry.thread, checkpoint=entry.number)
        return value


def _of_verdict(value: ReceiptValue, words: WordsRow) -> ReceiptValue:
    value.by = words.reviewer_name or words.reviewer
    if words.imported:
        value.by = person(words.reviewer, imported=True)
    how = {"edit": "an edit of the request", "respond": "an answer"}.get(
        words.verdict, "a decision"
    )
    value.source = f"{value.by}, in {how}"
    value.url = reverse("approval", args=[words.approval])
    return value


def _computed(receipt: Receipt) -> str:
    counts = isinstance(receipt.value, int) and receipt.value == receipt.count
    if counts and receipt.lines:
        return f"the number of {number(receipt.count)} recorded lines"
    return f"the sum of {number(receipt.count)} recorded values"


def _note(receipt: Receipt) -> str:
    if receipt.differs:
        return f"The record that holds the other values of this line has {receipt.differs} here."
    if receipt.repeats:
        return "A call was made with this value and repeats it; nothing else has it."
    return ""


def summary(values: Sequence[ReceiptValue], *, reported: bool = False) -> str:
    """Say how many values come from where, in a sentence."""
    if not values:
        return "The proposal has no values."
    counts: Counter[str] = Counter(value.origin for value in values)
    total, recorded = len(values), counts["recorded"]
    names = Counter(value.by for value in values if value.origin == "person")
    parts = []
    if recorded == total:
        parts.append(f"{_all_of(total)} from recorded outputs")
    elif recorded:
        come = "comes" if recorded == 1 else "come"
        parts.append(f"{number(recorded)} of {number(total)} values {come} from recorded outputs")
    else:
        values_come = "value comes" if total == 1 else "values come"
        parts.append(f"0 of {number(total)} {values_come} from recorded outputs")
    if counts["computed"]:
        parts.append(f"{number(counts['computed'])} computed from them")
    if len(names) > NAMES:
        parts.append(f"{number(sum(names.values()))} from {number(len(names))} people")
    else:
        parts += [f"{number(count)} from {name}" for name, count in names.most_common()]
    if counts["agent"]:
        parts.append(f"{number(counts['agent'])} only from the agent")
    if counts["unread"]:
        parts.append(f"{number(counts['unread'])} too large to look up")
    text = ", ".join(parts) + "."
    return f"{text} The outputs are as the agent’s own program reported them." if reported else text


def _all_of(total: int) -> str:
    return "The only value comes" if total == 1 else f"All {number(total)} values come"


def unread(material: Material, more: int) -> str:
    """Say what was not compared, in a sentence; empty where all was."""
    parts = []
    if material.capped:
        parts.append(f"calls older than the newest {number(queries.CALLS_READ)}")
    for count, one, several in (
        (material.unread_calls, "large output", "large outputs"),
        (material.unread_files, "large file", "large files"),
        (material.unread_entries, "large entry of a person", "large entries of people"),
        (more, "further value", "further values"),
    ):
        if count:
            parts.append(f"{number(count)} {one if count == 1 else several}")
    text = ", ".join(parts)
    return f"{text[0].upper()}{text[1:]} not scanned." if parts else ""
