"""Say of each value of a proposal where it comes from.

1. Make the values of the proposal recognisable by their normal forms (`leaves`, `needles`).
2. Read the sources record by record (`records`). What a call was made with is no evidence where its
   output repeats it.
3. A value comes from the record that holds most of the other values of its object. It is not
   recorded where that record has another value under the same key and none that holds as many has
   this one, nor where it stands in the record of another line of its list alone.
4. What is not recorded may be a sum or a number of values that are (`sums`), or a person entered
   it. Everything else is the agent's own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import Any

from checkpoints.state.deltas import decode

from .leaves import LEAVES, Leaf, forms, leaves
from .needles import Needle, Needles
from .records import Column, Record, Walk, repeated
from .sources import Origin, Receipt, Receipts, Source, Spot
from .sums import Totals, is_count, is_total, own_lines
from .units import same_key

SUPPORT = 2  # with this many other values of an object a record is its record
SUMMED = 64 * 1024  # characters of a source that is read for its sums alone
SHOWN = 80  # characters of a value that contradicts
ANOTHER_LINE = "…"  # in the place of the value that the record of the line has


@dataclass(frozen=True, slots=True)
class _Seen:
    """A place of a value, and how many other values of its object stand beside it."""

    spot: Spot
    support: int = 0
    keyed: bool = False
    lines: frozenset[int] = frozenset()  # objects of the proposal that the record is of

    @property
    def rank(self) -> tuple[int, bool]:
        return self.support, self.keyed


@dataclass(frozen=True, slots=True)
class _Best:
    """The record of an object of the proposal: its values, and how many of the object it holds."""

    values: dict[str, Any]
    support: int


class _Search:
    """Places of the values of a proposal in sources of one sort."""

    def __init__(self, needles: Needles) -> None:
        self._needles = needles
        self._totals = Totals(needles.every)
        self.anywhere: dict[int, _Seen] = {}  # by needle
        self.of_leaf: dict[int, _Seen] = {}  # by leaf, in a record of its object
        self.records: dict[int, _Best] = {}  # by object
        self.totals: dict[int, tuple[Spot, int]] = {}  # by needle
        self.repeated: set[int] = set()  # needles that some output only repeats
        self._echo: set[int] = set()
        self._summed_before: set[int] = set()

    def read(self, source: Source) -> None:
        """Look through one source and its files."""
        self._echo, self._summed_before = set(), set()
        if not source.files and not self._is_worth_reading(source.text):
            return
        if source.args:
            args = decode(source.args)
            self._echo = repeated(self._needles, args)
            Walk(self._needles, lambda record: None, self._note_total).value(args)
        walk = Walk(self._needles, partial(self._record, source), partial(self._column, source))
        walk.value(decode(source.text))
        for file in source.files:
            if self._is_worth_reading(file.text, lists="\n"):
                walk.file(file)

    def _is_worth_reading(self, text: str, *, lists: str = '[{"') -> bool:
        """Return whether a text can hold a value, or a list that sums up to one."""
        if self._needles.may_be_in_json(text):
            return True
        return self._totals.wanted and len(text) <= SUMMED and lists in text

    def _record(self, source: Source, record: Record) -> None:
        if not any(needle.distinctive for needle, _ in record.hits) and all(
            self._is_known(needle) for needle, _ in record.hits
        ):
            return  # every record has these
        fresh: dict[int, tuple[Needle, str]] = {}
        for needle, path in record.hits:
            if id(needle) in self._echo:
                self.repeated.add(id(needle))
            else:
                fresh.setdefault(id(needle), (needle, path))
        support = Counter(
            group for needle, _ in fresh.values() if needle.distinctive for group in needle.members
        )
        shared = [
            needle for needle, _ in fresh.values() if needle.strong and not needle.distinctive
        ]
        for group in support:
            support[group] += sum(group in needle.members for needle in shared)
        lines = frozenset(group for group, count in support.items() if count >= SUPPORT)
        for needle, path in fresh.values():
            keyed = any(same_key(needle.key, key) for key in record.values)
            seen = _Seen(Spot(source, path, record.file), 0, keyed, lines)
            self._note(needle, seen, support)
        for group, count in support.items():
            best = self.records.get(group)
            if best is None or count > best.support:
                self.records[group] = _Best(record.values, count)

    def _is_known(self, needle: Needle) -> bool:
        """Return whether a value has a place under its own key already."""
        known = self.anywhere.get(id(needle))
        return known is not None and known.keyed

    def _note(self, needle: Needle, seen: _Seen, support: Counter[int]) -> None:
        literal = needle.value is None or isinstance(needle.value, bool)
        before = self.anywhere.get(id(needle))
        if not literal and (before is None or seen.rank > before.rank):
            self.anywhere[id(needle)] = seen
        for group in support.keys() & needle.members.keys():
            others = support[group] - needle.strong
            if literal and others < SUPPORT:
                continue
            leaf = needle.members[group]
            known = self.of_leaf.get(leaf)
            if known is None or (others, seen.keyed) > known.rank:
                self.of_leaf[leaf] = replace(seen, support=others)

    def _note_total(self, column: Column) -> None:
        self._summed_before |= {id(needle) for needle in self._totals.of_column(column)}

    def _column(self, source: Source, column: Column) -> None:
        for needle in self._totals.of_column(column):
            known = self._summed_before | self._echo
            if id(needle) not in known and id(needle) not in self.totals:
                path = f"{column.path}[*].{column.key}" if column.path else column.key
                spot = Spot(source, path, column.file)
                self.totals[id(needle)] = spot, len(column.records)

    def seen(self, needle: Needle, leaf: int) -> _Seen | None:
        """The best place of one value."""
        places = [
            one
            for one in (self.of_leaf.get(leaf), self.anywhere.get(id(needle)))
            if one is not None
        ]
        return max(places, key=lambda one: one.rank, default=None)


def receipts(proposal: Any, outputs: Sequence[Source], entries: Sequence[Source]) -> Receipts:
    """Say where each value of a proposal comes from.

    `outputs` are results of recorded calls and `entries` what people entered, oldest first.
    """
    every = leaves(proposal)
    wanted = list(islice(every, LEAVES))
    more = sum(1 for _ in every)
    needles = Needles(wanted)
    recorded, entered = _Search(needles), _Search(needles)
    for source in outputs:
        recorded.read(source)
    for source in entries:
        entered.read(source)
    row_of = {leaf.group: leaf.row_of for leaf in wanted}
    results: list[Receipt | None] = [None] * len(wanted)
    for needle in needles.every:
        for n in needle.leaves():
            results[n] = _receipt(wanted[n], n, needle, recorded, entered, row_of)
    whole = _with_sums(proposal, wanted, [one for one in results if one is not None])
    return Receipts(tuple(whole), more, {one.path: one for one in whole})


def _receipt(
    leaf: Leaf,
    n: int,
    needle: Needle,
    recorded: _Search,
    entered: _Search,
    row_of: Mapping[int, str],
) -> Receipt:
    seen, best = recorded.seen(needle, n), recorded.records.get(leaf.group)
    differs = _contradiction(leaf, seen, best)
    if not differs and seen is not None and _of_another_line(leaf, seen, best, row_of):
        differs = ANOTHER_LINE
    receipt = Receipt(leaf.path, leaf.value, Origin.AGENT, differs=differs)
    if seen is not None and not differs:
        return replace(receipt, origin=Origin.RECORDED, spot=seen.spot)
    if (by_person := entered.seen(needle, n)) is not None:
        return replace(receipt, origin=Origin.PERSON, spot=by_person.spot)
    if not differs and (total := recorded.totals.get(id(needle))) is not None:
        spot, count = total
        return replace(receipt, origin=Origin.COMPUTED, spot=spot, count=count)
    return replace(receipt, repeats=id(needle) in recorded.repeated)


def _contradiction(leaf: Leaf, seen: _Seen | None, best: _Best | None) -> str:
    """Return what the record of the leaf's object has instead; empty where it has nothing else."""
    if best is None or best.support < SUPPORT:
        return ""
    if seen is not None and seen.support >= best.support:
        return ""
    for key, value in best.values.items():
        if same_key(leaf.key, key) and value not in (None, ""):
            same = set(forms(leaf.value)) & set(forms(value))
            return "" if same else str(value)[:SHOWN]
    return ""


def _of_another_line(
    leaf: Leaf, seen: _Seen, best: _Best | None, row_of: Mapping[int, str]
) -> bool:
    """Return whether a value is in the record of another line of its list and not in its own."""
    if not leaf.row_of or best is None or best.support < SUPPORT or leaf.group in seen.lines:
        return False
    return any(row_of.get(group) == leaf.row_of for group in seen.lines)


def _with_sums(proposal: Any, wanted: Sequence[Leaf], results: Sequence[Receipt]) -> list[Receipt]:
    """The receipts with those that are sums or numbers of the proposal's own recorded lines."""
    by_path = {leaf.path: leaf for leaf in wanted}
    recorded = {one.path for one in results if one.origin is Origin.RECORDED}
    columns = list(own_lines(proposal, by_path))
    whole = []
    for leaf, receipt in zip(wanted, results, strict=True):
        if receipt.origin is Origin.AGENT and not receipt.differs:
            for lines in columns:
                if set(lines.paths) <= recorded and (
                    is_total(leaf, lines) or is_count(leaf, lines)
                ):
                    receipt = replace(
                        receipt,
                        origin=Origin.COMPUTED,
                        lines=lines.paths,
                        count=len(lines.paths),
                        repeats=False,
                    )
                    break
        whole.append(receipt)
    return whole
