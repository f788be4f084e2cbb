"""Read the numbers of a page with the place of each, and judge them by rules.

A page is read as text with the place where it stands. A rule names a place and gives what has to
stand there; a number that no rule names fails the test, so that a new one needs a second source.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from html.parser import HTMLParser
from typing import Any

from tests.support.cast import Cast
from tests.unit.checkpoints.builders import rows

# Not counted: drawings, what people type, ids and hashes, times (times.js writes them anew), values
# of agents, keys to press.
SKIPPED = {"svg", "script", "style", "time", "kbd", "select", "textarea", "title"}
SKIPPED_CLASSES = {"mono", "tree", "hash", "crumb"}
VOID = {"input", "img", "br", "hr", "meta", "link", "use", "path", "circle", "rect"}


class _Reader(HTMLParser):
    """The texts of a page with the elements around each, outermost first."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.pairs: list[tuple[str, str]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in VOID:
            return
        values = {name: value or "" for name, value in attrs}
        position = tag + (f"#{values['id']}" if "id" in values else "")
        self.open.append(position + "".join(f".{name}" for name in values.get("class", "").split()))

    def handle_endtag(self, tag: str) -> None:
        while self.open and tag not in VOID:
            if re.split(r"[#.]", self.open.pop())[0] == tag:
                break

    def handle_data(self, data: str) -> None:
        if data.strip() and self.open and ".chip" in self.open[-1]:
            self.open[-1] += f"<{data.split()[0]}>"  # the word that its number belongs to
        if data.strip() and not any(map(_skipped, self.open)):
            self.pairs.append((" ".join(self.open), " ".join(data.split())))


def _skipped(position: str) -> bool:
    tag, *rest = re.split(r"[#.]", position)
    return tag in SKIPPED or bool(SKIPPED_CLASSES & set(rest))


def numbers(html: str) -> Iterator[tuple[str, str]]:
    """(place, text) of everything in the main part of a page that holds a digit."""
    reader = _Reader()
    reader.feed(html[html.index("<main ") : html.index("</main>")])
    for position, words in reader.pairs:
        if re.search(r"\d", words):
            yield position, words


@dataclass(frozen=True)
class Rule:
    """Where a number stands, and the text that has to stand there."""

    position: str
    text: Callable[..., str]


def problem(position: str, words: str, rules: list[Rule], *context: Any) -> str:
    """What is wrong with one number: another value than by SQL, or no rule names its place."""
    for rule in rules:
        if match := re.search(rule.position, position):
            wanted = rule.text(*context, *match.groups())
            return "" if words == wanted else f"{position}: {words!r}, by SQL {wanted!r}"
    return f"nobody computes this a second way: {words!r} at {position}"


def quoted(html: str, cast: Cast) -> list[tuple[str, str]]:
    """The numbers of a page outside of its sentences; those in them are looked for in the log."""
    log = " ".join(
        str(row)
        for row in rows(
            "SELECT e.data, t.status_reason, t.waiting_on, t.wake_at FROM gp_event e "
            "JOIN gp_thread t ON t.id = e.thread_id WHERE t.workspace_id = %s", (cast.workspace,),
        )
    )  # fmt: skip
    results = []
    for position, words in numbers(html):
        if not QUOTED.search(position):
            results.append((position, words))
            continue
        for number in re.findall(r"\d+", words.replace(",", "")):
            assert number in log, f"{position}: {words!r} names {number}, the log does not"
    return results


# Sentences quote the log: each number in them is one of an event or a reason.
QUOTED = re.compile(r"li#feed-|tr#event-\d+.* td\.what|td\.c-act|#thread-note|#open-")
