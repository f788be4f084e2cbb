"""A light tree shows little at once and loses nothing: its links lead to all the rest."""

from __future__ import annotations

import json
import re
from html import unescape
from random import Random
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from checkpoints.state.list_keys import Part
from dashboard.html import trees
from dashboard.html.list_pairs import MISSING
from dashboard.html.places import Places, Sides, part_at

NEW, OLD = "0198c5f2-6d1e-7a30-9b51-4f0b5a3c2d10:5", "0198c5f2-6d1e-7a30-9b51-4f0b5a3c2d10:4"
KEYS = ("name", "a/b", "c~d", "ü", "<b>", "", "0", "total", "x y", "$artifact", "?of=&at=")


class Leaves:
    """A state whose texts are all different, and what was put into it."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.texts: list[str] = []

    def value(self, depth: int) -> Any:
        """A list, an object or a text."""
        kind = self.random.random()
        if depth and kind < 0.35:
            return [self.value(depth - 1) for _ in range(self.random.choice((0, 1, 3, 5, 25)))]
        if depth and kind < 0.8:
            n = self.random.randrange(len(KEYS))
            return {key: self.value(depth - 1) for key in self.random.sample(KEYS, n)}
        # One is longer than a page takes.
        long = 30_000 if len(self.texts) == 7 else 450 if len(self.texts) % 9 == 5 else 3
        self.texts.append(f"leaf-{len(self.texts)}-{'x' * long}.")
        return self.texts[-1]


def texts_of(value: Any) -> set[str]:
    """All texts in a value."""
    if isinstance(value, str):
        return {value}
    inner = value.values() if isinstance(value, dict) else value
    return {text for item in inner for text in texts_of(item)}


def links(html: str) -> set[str]:
    return {unescape(href) for href in re.findall(r'class="(?:fold|cut)" href="([^"]*)"', html)}


def followed(address: str, states: dict[str, Any]) -> str:
    """What the page of this address puts in the place of its link."""
    query = {name: values[0] for name, values in parse_qs(urlsplit(address).query).items()}
    at = query.get("at", "")
    value, old, against = part_at(states[query["of"]], at), MISSING, query.get("against")
    sides = Sides(Places(query["of"], value, at))
    if against:
        was = query.get("was", at)
        old = part_at(states[against], was)
        sides = Sides(sides.new, Places(against, old, was))
    return trees.fragment(
        "key", value, old, sides=sides, address=address, depth=1,
        start=int(query.get("start", 0)), schema=Part.of(None),
    )  # fmt: skip


def reached(html: str, states: dict[str, Any]) -> str:
    """A tree with everything that its links lead to."""
    parts, left, seen = [html], links(html), set()
    while left:
        address = left.pop()
        seen.add(address)
        parts.append(followed(address, states))
        left |= links(parts[-1]) - seen
    return unescape(re.sub(r"<[^>]*>", "", "\0".join(parts)))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12))
def test_every_text_of_a_state_is_reached_by_links(seed: int) -> None:
    leaves = Leaves(seed)
    state = {f"channel {n}": leaves.value(3) for n in range(leaves.random.randrange(1, 12))}
    html = trees.render(state, unfold=2, sides=Sides(Places(NEW, state)), most=trees.LINES)
    assert len(re.findall("<li", html)) <= 2 * trees.LINES + trees.MAX_CHILDREN
    everything = reached(html, {NEW: state})
    for text in texts_of(state):
        # A very long one comes in pieces, which stand beside each other in no order.
        pieces = [text] if len(text) < trees.MAX_STRING else [text[:399], text[-400:]]
        assert all(piece in everything for piece in pieces), text[:30]


@pytest.mark.parametrize("seed", range(12))
def test_every_difference_of_two_states_is_reached_by_links(seed: int) -> None:
    leaves = Leaves(seed)
    old = {f"channel {n}": leaves.value(3) for n in range(4)}
    new = json.loads(json.dumps(old))
    changed: set[str] = set()

    def change(value: Any) -> None:
        for key, item in list(value.items() if isinstance(value, dict) else enumerate(value)):
            if isinstance(value, dict) and leaves.random.random() < 0.1:
                changed.update(texts_of(value.pop(key)))
            elif not isinstance(item, str):
                change(item)
            elif leaves.random.random() < 0.3 and len(item) < 400:
                value[key] = f"new-{len(changed)}."
                changed.update((value[key], item))

    change(new)
    new["channel 9"] = leaves.value(3)
    changed |= texts_of(new["channel 9"])
    sides = Sides(Places(NEW, new), Places(OLD, old))
    html = trees.render(new, old, sides=sides, most=trees.LINES)
    everything = reached(html, {NEW: new, OLD: old})
    for text in changed:
        assert text[:399] in everything, text[:30]


def test_a_link_names_exactly_the_part_that_it_leaves_out() -> None:
    state = {"a/b": {"c~d": {"deep": [1, 2]}}, "long": "y" * 500}
    html = trees.render(state, unfold=2, sides=Sides(Places(NEW, state)))
    assert links(html) == {
        f"/threads/value/?of={NEW}&at=/a~1b/c~0d",
        f"/threads/value/?of={NEW}&at=/long",
    }
    assert "deep" not in html
    assert 'hx-target="closest li"' in html


def test_a_part_that_cannot_be_addressed_is_shown_at_once() -> None:
    state = {"k" * 1_600: {"deep": {"x": "here"}}}
    html = trees.render(state, unfold=2, sides=Sides(Places(NEW, state)))
    assert "here" in html
    assert not links(html)


@pytest.mark.parametrize("pointer", ["/x", "/a/0/b", "/l/9", "/l/-1", "/l/٣", "/l/1e1", "/s/0"])
def test_what_is_not_there_is_no_part(pointer: str) -> None:
    with pytest.raises(LookupError):
        part_at({"a": [1], "l": [1, 2], "s": "text"}, pointer)
