"""Filters and tags of the decision page: complete texts, whole trees, who has approved."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe

from approvals.states import ALLOWING
from dashboard.approvals.long_texts import text_addresses
from dashboard.documents import json_lines as on_paper
from dashboard.html import list_pairs, trees
from dashboard.html.charts.symbols import symbol
from dashboard.html.tables.receipt_marks import marks
from dashboard.html.templatetags.gatepost import VERDICTS
from dashboard.wording import text
from dashboard.wording.sentences_of_decisions import VERBS

register = template.Library()

SHOWN = 1_200  # characters of a text before the rest is folded
# Of a JSON value on the page of a report: lines and characters of one that is not folded,
# characters of one that the page has at all, characters in a cell.
LINES_OPEN, OPEN, FOLDED, CELL = 9, 1_000, 100_000, 500
_TAKEN_BACK = ("t-idle", "undo", "Undone")
_QUESTION = ("t-run", "msg", "Asked")


@register.filter
def json_lines(value: Any) -> SafeString:
    """JSON for a <pre> on paper, hidden characters marked."""
    return text.visible(on_paper.json_lines(value))


@register.simple_tag
def report_json(value: Any, whole: bool = False) -> dict[str, Any]:
    """JSON in a report: its text, "" where it is too large for the page, and how much it is.

    `whole`: in a file, where nothing is folded or left out.
    """
    raw = on_paper.json_lines(value)
    lines, size = raw.count("\n") + 1, len(raw.encode())
    return {
        "text": text.visible(raw) if whole or len(raw) <= FOLDED else "",
        "is_short": whole or (lines <= LINES_OPEN and len(raw) <= OPEN),
        "lines": lines,
        "size": size,
    }


@register.simple_tag
def cell_json(value: Any, whole: bool = False) -> SafeString:
    """JSON in a cell of a report; outside a file (`whole`) a long one is cut and says so."""
    raw = on_paper.json_lines(value)
    if whole or len(raw) <= CELL:
        return text.visible(raw)
    rest = text.number(len(raw) - CELL)
    return format_html("{} … {} more characters, in the file", text.visible(raw[:CELL]), rest)


@register.filter
def full(value: object) -> SafeString:
    """A text with its line breaks; the rest of a long one is behind a fold that counts it."""
    return _folded(str(value), text.visible)


@register.filter
def full_prose(value: object) -> SafeString:
    """Sentences as `full`, with what stands in backticks as code."""
    return _folded(str(value), text.prose)


def _folded(raw: str, escaped: Callable[[str], SafeString]) -> SafeString:
    head, tail = raw[:SHOWN], raw[SHOWN:]
    if not tail:
        return _lines(head, escaped)
    return format_html(
        '<span>{}</span><details class="rest"><summary>{} more characters</summary>{}</details>',
        _lines(head, escaped),
        text.number(len(tail)),
        _lines(tail, escaped),
    )


def _lines(raw: str, escaped: Callable[[str], SafeString]) -> SafeString:
    shown = escaped(raw).replace("\r\n", "\n").replace("\n", "<br>")
    return mark_safe(shown)  # noqa: S308 - escaped above


@register.simple_tag
def whole_tree(
    value: Any,
    before: Any = None,
    compare: bool = False,
    unfold: int = 3,
    schema: Any = None,
    receipts: Any = None,
    tables: Any = (),
    request: UUID | None = None,
) -> SafeString:
    """Arguments as a tree with nothing left out; with `compare` marked where they differ.

    `receipts` are those of this very value. Lists shown as `tables` below are only counted. Very
    long texts come when they are unfolded, if the id of the `request` says from where.
    """
    old = before if compare else list_pairs.MISSING
    known = None if receipts is None else marks(value, receipts.values)
    tabled = frozenset(table.of for table in tables if not table.more)
    texts = None if request is None else text_addresses(request, value)
    return trees.render(
        value,
        old,
        unfold=unfold,
        whole=True,
        schema=schema,
        marks=known,
        tabled=tabled,
        texts=texts,
    )


EXACT = 6_000  # bytes of JSON that a page has without being asked for it
EXACT_MAX = 500_000  # bytes of JSON that a page has at all


@register.simple_tag
def exact_json(value: Any, wanted: bool = False) -> dict[str, Any]:
    """The JSON of a proposal: its text where it is short or wanted, its bytes, whether it is more
    than a page may have.
    """
    size = len(json.dumps(value, ensure_ascii=False).encode())
    text_here = size <= EXACT or (wanted and size <= EXACT_MAX)
    return {
        "text": trees.pretty(value) if text_here else "",
        "size": size,
        "too_large": size > EXACT_MAX,
    }


@register.simple_tag
def hides(approval: Any) -> bool:
    """True if any text written for this request holds hidden characters."""
    texts = [
        *(
            approval.title,
            approval.sentence,
            approval.description,
            approval.tool,
            approval.node,
            approval.undo,
        ),
        *(approval.agent, approval.thread_title, *approval.reasons),
        json.dumps(approval.shown_args, ensure_ascii=False),
        json.dumps(approval.args, ensure_ascii=False) if approval.standing_args else "",
    ]
    return any(text.has_hidden(one) for one in texts)


@register.filter
def plus(at: datetime | None, seconds: int) -> str:
    """A time some seconds later, as machines read it."""
    return "" if at is None else (at + timedelta(seconds=seconds)).isoformat()


@register.filter
def past(at: datetime | None, seconds: int) -> bool:
    """True if these seconds have passed since a time."""
    return at is not None and datetime.now(UTC) - at >= timedelta(seconds=seconds)


@register.filter
def outcome_word(outcome: str) -> str:
    """The word of an outcome."""
    return VERDICTS.get(outcome, VERDICTS["approve"])[2]


@register.filter
def did_of(outcome: str) -> str:
    """The verb for the decision, in the past tense."""
    return "edited and approved" if outcome == "edit" else VERBS.get(outcome, "decided")


@register.simple_tag
def vote_badge(vote: Any, voided_by: Any = None) -> SafeString:
    """Shape, colour and word of one verdict of several; `voided_by` made it void."""
    looks = VERDICTS | {"take_back": _TAKEN_BACK, "respond": _QUESTION}
    tone, name, word = looks.get(vote.verdict, _TAKEN_BACK)
    if vote.verdict in ALLOWING and not vote.counts:
        back = voided_by is not None and voided_by.verdict == "take_back"
        tone, name, word = "t-idle", "cancel", f"{word}, {'undone' if back else 'void'}"
    return format_html('<span class="st {}">{}{}</span>', tone, symbol(name), word)
