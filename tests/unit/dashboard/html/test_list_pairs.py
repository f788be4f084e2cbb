"""Lists are compared by what their items are: exact counts, permutations, declared keys, cost."""

from __future__ import annotations

import random
import re
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkpoints.state.list_keys import list_key
from dashboard.html import differences, list_pairs, trees
from dashboard.html.differences import Changes
from tests.support.counted_work import counted

CALLS = st.randoms(use_true_random=False)
KEYS = ("id", "invoice", "number", "odd name")


def _lines(n: int, key: str) -> list[dict[str, Any]]:
    return [
        {"supplier": f"S{i % 2}", key: f"RE-{i}", "account": f"DE{i:020}", "amount": f"{i}.00"}
        for i in range(n)
    ]


@st.composite
def _edited(draw: Any) -> tuple[list[Any], list[Any], int, int, int]:
    """(old, new, added, changed, removed) of a list with a key, at random places."""
    dice, key = draw(CALLS), draw(st.sampled_from(KEYS))
    old = _lines(draw(st.integers(3, 40)), key)
    n_gone = draw(st.integers(0, len(old) - 2))
    n_changed = draw(st.integers(0, len(old) - n_gone - 1))
    n_added = draw(st.integers(0, 12))
    rows = dice.sample(old, len(old))
    saved = rows[n_gone:]
    changed = [{**row, "amount": "0.07"} for row in saved[:n_changed]]
    added = [
        {**row, key: f"NEW-{i}", "account": f"N{i}", "amount": f"N{i}"}
        for i, row in enumerate(_lines(n_added, key))
    ]
    new = changed + saved[n_changed:] + added
    dice.shuffle(new)
    return old, new, n_added, n_changed, n_gone


@given(_edited())
def test_each_row_that_came_changed_or_went_is_one_entry(
    edited: tuple[list[Any], list[Any], int, int, int],
) -> None:
    old, new, added, changed, removed = edited
    for wrap in (lambda rows: rows, lambda rows: {"lines": rows}):
        assert differences.changes(wrap(new), wrap(old)) == Changes(added, changed, removed)
        assert differences.changes(wrap(old), wrap(new)) == Changes(removed, changed, added)
    html = trees.render({"lines": new}, {"lines": old}, whole=True)
    # The line that unfolds the rest of many is no entry itself.
    marks = re.findall(r'class="ln d1 (add|chg|del)"(?!><span class="x">… )', html)
    assert (marks.count("add"), marks.count("del")) == (added, removed)
    assert html.count('<del><span class="s">') >= changed


_items = st.one_of(
    st.text("abc", max_size=3), st.integers(-3, 3), st.none(), st.booleans(),
    st.dictionaries(st.sampled_from("xyz"), st.integers(0, 2), max_size=3),
    st.lists(st.integers(0, 2), max_size=2),
)  # fmt: skip


@given(st.lists(_items, max_size=12), CALLS)
def test_a_permuted_list_has_no_change(items: list[Any], dice: random.Random) -> None:
    other = dice.sample(items, len(items))
    assert differences.changes({"v": other}, {"v": items}) == Changes(0, 0, 0)
    html = trees.render({"v": other}, {"v": items})
    assert not re.search(r'class="ln[^"]* (add|chg|del|alarm)', html)
    texts = [[repr(one) for one in side] for side in (items, other)]
    if len(set(texts[0])) == len(items) > 1 and texts[0] != texts[1]:
        assert "the order differs" in html


def test_one_and_true_are_two_values() -> None:
    html = trees.render({"v": [1, True]}, {"v": [True, 1]})
    assert "the order differs" in html
    assert differences.changes({"v": {"a": True}}, {"v": {"a": 1}}).changed == 1


@given(st.lists(_items, max_size=10), st.integers(0, 5), CALLS)
def test_without_a_key_as_many_entries_as_were_put_in_or_out(
    items: list[Any], k: int, dice: random.Random
) -> None:
    fresh = [f"fresh {n}" for n in range(k)]
    new = [*items]
    for one in fresh:
        new.insert(dice.randrange(len(new) + 1), one)
    assert differences.changes(new, items) == Changes(k, 0, 0)
    assert differences.changes(items, new) == Changes(0, 0, k)
    put = dict(zip(dice.sample(range(len(items)), min(k, len(items))), fresh, strict=False))
    edited = [put.get(index, item) for index, item in enumerate(items)]
    changes = differences.changes(edited, items)
    assert (changes.added, changes.changed, changes.removed) == (0, len(put), 0)


@given(st.lists(_items, max_size=8), st.lists(_items, max_size=8))
def test_every_item_of_both_lists_stands_in_one_pair(new: list[Any], old: list[Any]) -> None:
    made = list_pairs.pairs(new, old)
    for side, items in ((lambda p: p.new, new), (lambda p: p.old, old)):
        there = [repr(side(pair)) for pair in made if side(pair) is not list_pairs.MISSING]
        assert sorted(there) == sorted(map(repr, items))


def test_a_declared_key_comes_before_what_looks_like_one() -> None:
    old = [{"id": 1, "slot": "a", "who": "ada"}, {"id": 2, "slot": "b", "who": "ben"}]
    new = [{"id": 2, "slot": "a", "who": "ada"}, {"id": 1, "slot": "b", "who": "ben"}]
    assert differences.changes(new, old).changed == 2
    schema = {
        "properties": {"rota": {"$ref": "#/$defs/Rota"}},
        "$defs": {"Rota": {"type": "array", "x-key": "slot", "items": {"type": "object"}}},
    }
    assert list_pairs.pairs(new, old, "slot")[0].old["id"] == 1
    changes = differences.changes({"rota": new}, {"rota": old}, schema)
    assert changes == Changes(0, 2, 0)
    assert "a:" in trees.render({"rota": new}, {"rota": old}, schema=schema)


def test_a_changed_account_stands_first_in_red_and_in_the_sum() -> None:
    old = _lines(100, "invoice")
    new = [{**row} for row in old[:50]] + [
        {**row, "invoice": f"N{row['invoice']}"} for row in old[:3]
    ]
    new[4]["amount"] = "5.00"
    new[20]["account"] = "DE99"
    changes = differences.changes({"payments": new}, {"payments": old})
    assert changes == Changes(added=3, changed=2, removed=50, accounts=1)
    assert changes.words == "~ 1 account changed, ~ 1 changed, + 3, − 50"
    html = trees.render({"payments": new}, {"payments": old}, whole=True)
    assert "~ 1 account changed, ~ 1 amount changed, + 3, − 50" in html
    rows = re.findall(r'class="(ln d1[^"]*)"><span class="k">([^<]+):', html)
    assert rows[0] == ("ln d1 alarm", "RE-20")
    assert rows[1][1] == "RE-4"


def test_the_values_are_not_unique_or_have_nothing_in_common() -> None:
    twice = [{"id": 1}, {"id": 1}]
    assert list_key(twice, [{"id": 1}]) == ""
    assert list_key([{"id": True}], [{"id": True}]) == ""
    assert list_key([{"id": ""}], [{"id": ""}]) == ""
    assert list_key([{"id": 1}, 2], [{"id": 1}]) == ""
    assert differences.changes([{"id": 1}], [{"id": 2}]) == Changes(1, 0, 1), "two other things"


LINE = st.fixed_dictionaries(
    {"amount": st.sampled_from(("1.00", "2.00", "3.00"))},
    optional={
        "invoice": st.sampled_from("abcdef"),
        "payee": st.sampled_from(("Tauern", "Lenoir", "Nord")),
        "iban": st.sampled_from(("DE1", "DE2", "DE3")),
        "due": st.sampled_from(("2026-11-30", "2026-12-01")),
    },
)


@given(st.lists(LINE, max_size=6), st.lists(LINE, max_size=6))
def test_objects_are_paired_by_what_names_them_never_by_place(
    new: list[dict[str, str]], old: list[dict[str, str]]
) -> None:
    for pair in list_pairs.pairs(new, old):
        if list_pairs.MISSING in (pair.new, pair.old) or pair.new == pair.old:
            continue
        names = ("invoice", "payee", "iban")
        shared = [name for name in names if pair.new.get(name) == pair.old.get(name, "")]
        assert shared, (pair, "neither number nor payee nor account is the same")


def test_another_run_of_payments_is_compared_by_payee() -> None:
    old = [
        {"payee": "Tauern", "invoice": "T1", "iban": "DE1", "amount": "5"},
        {"payee": "Lenoir", "invoice": "L1", "iban": "FR1", "amount": "6"},
    ]
    new = [
        {"payee": "Lenoir", "invoice": "L2", "iban": "FR1", "amount": "7"},
        {"payee": "Nord", "invoice": "N1", "iban": "DE9", "amount": "6"},
        {"payee": "Tauern", "invoice": "T2", "iban": "XX9", "amount": "5"},
    ]
    changes = differences.changes({"payments": new}, {"payments": old})
    assert changes == Changes(added=1, changed=2, removed=0, accounts=1)
    # Two invoices of a payee: it names no line any more, so every one is another one.
    twice = [*new, {**new[0], "invoice": "L3"}]
    assert differences.changes({"payments": twice}, {"payments": old}) == Changes(4, 0, 2)


def test_what_is_called_as_identifiers_are_comes_before_what_happens_to_meet() -> None:
    old = [{"order_no": "A1", "amount": "5"}, {"order_no": "A2", "amount": "6"}]
    new = [{"order_no": "A3", "amount": "5"}, {"order_no": "A4", "amount": "6"}]
    assert list_key(new, old) == "order_no"
    both = [{"uuid": f"{n}", "invoice": f"RE-{n % 2}"} for n in (1, 2)]
    anew = [{"uuid": f"{n}", "invoice": f"RE-{n % 2}"} for n in (3, 4)]
    assert list_key(anew, both) == "invoice", "the one that is new each time names nothing"
    assert list_key(anew, both, "uuid") == "uuid"


@pytest.mark.slow
@pytest.mark.parametrize("key", ["invoice", ""])
def test_the_cost_grows_with_the_number_of_lines(key: str) -> None:
    """5,000 lines cost five times as much as 1,000; by pairs they would cost 25 times as much."""
    work = {}
    for n in (1_000, 5_000):
        old = _lines(n, key) if key else [f"line {i}" for i in range(n)]
        new = old[1:][::-1] + old[:1]
        work[n] = counted(partial(differences.changes, new, old))
    assert work[5_000] < 5.5 * work[1_000]
