"""Acts on many threads of a board: a preview of each, then the action."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from approvals.incidents import queries as incidents
from checkpoints import queries
from checkpoints.errors import InvalidValue
from checkpoints.views import ThreadRow
from dashboard import errors
from dashboard.board.filters.address import COLUMN_WORDS, DENSITY, NARROWS, read_address
from dashboard.fields import form as fields
from dashboard.fields.parameters import ID, one_of
from dashboard.identity.permissions import require
from dashboard.kit.inputs import declared
from dashboard.kit.pages import forms
from dashboard.kit.pages.addresses import takes
from dashboard.kit.pages.base import SeeOther, actor, flash, member
from dashboard.threads.many import (
    AT_ONCE,
    BULK_ACTIONS,
    NEEDS_REASON,
    BulkAction,
    Outcome,
    act_on_many,
    possible,
    preview_many,
)
from dashboard.threads.many_calls import ActOnMany

from .board_page import board_page

NAMED: Final = 3
TEMPLATE: Final = "board/many.html"
WORDS: Final = {
    "pause": ("Pause", "Each thread stops at its next step."),
    "resume": ("Resume", "Paused threads continue."),
    "retry": ("Retry", "Failed threads try their step again."),
    "edit": ("Edit", "One value changes in each thread; all must have the same agent version."),
    "skip": ("Skip", "Each continues after its next node."),
    "cancel": ("Cancel", "They end here for good. Their history stays."),
    "roll_back": ("Roll back", "Each returns to the same checkpoint number, then pauses."),
}


@require_http_methods(["GET", "POST"])
@member
@takes(COLUMN_WORDS, **NARROWS, density=DENSITY, incident=ID, action=one_of(BULK_ACTIONS))
def many(request: HttpRequest) -> HttpResponse:
    """List the threads of a board's address; then a preview of the action; then act.

    That address goes along, so that the board which was left comes back. &incident= lists the
    threads that are in trouble there; &action= is chosen to begin with.
    """
    who = actor(request)
    require(who, "read")
    if request.method != "POST" and (incident := request.GET.get("incident")):
        threads = incidents.in_trouble(UUID(incident), workspace=who.workspace, limit=AT_ONCE)
        rows = _rows(dict.fromkeys(threads, 0), who.workspace)
        return _dialog(request, {"rows": rows, "beyond": len(threads) == AT_ONCE}, {}, 200)
    if request.method != "POST":
        board = board_page(request)
        rows = list(board.first(AT_ONCE).rows)
        what = {"rows": rows, "board": board.text, "beyond": len(rows) == AT_ONCE}
        return _dialog(request, what | {"problem": board.problem}, {}, 200)
    form = request.POST
    back = {"board": _board(form.get("board", ""), who.workspace)}
    versions: dict[UUID, int] = {}
    try:
        again = form.get("do") == "choose"
        versions = _ticked(form.getlist("thread") + (form.getlist("alone") if again else []))
        if again:
            what = back | {"rows": _rows(versions, who.workspace)}
            return _dialog(request, what, _too_many(versions), 200)
        if form.get("do") == "compare":
            if len(versions) != 2:
                raise errors.Invalid("$.thread", f"choose two to compare, not {len(versions):,}")
            left, right = versions
            return SeeOther(f"{reverse('compare')}?left={left}&right={right}")
        action = _bulk_action(request, versions, who.workspace)
        if form.get("do") != "sure":
            outcomes = preview_many(who, action, list(versions))
            return _dialog(request, back | {"outcomes": outcomes, "bulk_action": action}, {}, 200)
        outcomes = act_on_many(who, action, list(versions), versions)
    except errors.Forbidden:
        raise
    except errors.ActionError as error:
        what = back | {"rows": _rows(versions, who.workspace)}
        return _dialog(request, what, forms.problems_of(error), error.status)
    flash(request, _summary(action, outcomes))
    return SeeOther(_address(back["board"]))


def _dialog(
    request: HttpRequest, what: Mapping[str, Any], problems: dict[str, str], status: int
) -> HttpResponse:
    who, form = actor(request), request.POST
    rows = what.get("rows", ())
    outcomes = what.get("outcomes", ())
    reached = [one for one in outcomes if not one.why]
    fits = possible(who, rows) if rows else {}
    context = {
        "rows": rows,
        "beyond": what.get("beyond", False),
        "at_once": AT_ONCE,
        "bulk_actions": [(n, *WORDS[n], fits.get(n, 0)) for n in BULK_ACTIONS],
        "chosen": form.get("action") or request.GET.get("action") or _first(fits),
        "channels": _channels(rows),
        "channel": form.get("channel", ""),
        "value": form.get("value", ""),
        "then_retry": bool(form.get("then_retry")) or not form,
        "to": form.get("to", ""),
        "declared": declared(ActOnMany, ["reason"], form.dict(), problems),
        "undo": bool(form.get("undo")),
        "outcomes": outcomes,
        "reached": len(reached),
        "sums": {
            n: sum(getattr(one, n) for one in reached) for n in ("undone", "stays", "unknown")
        },
        "bulk_action": what.get("bulk_action"),
        "word": WORDS[what["bulk_action"].name][0] if "bulk_action" in what else "",
        "needs_reason": "bulk_action" in what and what["bulk_action"].name in NEEDS_REASON,
        "errors": problems,
        "board": what.get("board", ""),
        "back": _address(what.get("board", "")),
        "problem": what.get("problem"),
    }
    return render(request, TEMPLATE, context, status=status)


def _summary(action: BulkAction, outcomes: Sequence[Outcome]) -> str:
    """Count what was done and say why others were left alone, the newest few by name."""
    refused = [one for one in outcomes if one.why]
    text = f"{WORDS[action.name][0]}: {len(outcomes) - len(refused):,} of {len(outcomes):,} done."
    for one in refused[:NAMED]:
        name = str(one.thread) if one.row is None else one.row.title
        text += f" {name}: {one.why}"
    more = len(refused) - NAMED
    return text + (f" {more:,} more were not changed." if more > 0 else "")


def _first(fits: Mapping[str, int]) -> str:
    """The action that most of the threads need."""
    return next((name for name in ("retry", "resume", "pause", "cancel") if fits.get(name)), "")


def _ticked(values: list[str]) -> dict[UUID, int]:
    """{thread: the version that was looked at}, as the boxes post them; raises Invalid."""
    ticked: dict[UUID, int] = {}
    for value in values:
        ident, _, version = value.partition(":")
        if not (version.isascii() and version.isdecimal() and len(version) < 18):
            raise errors.Invalid("$.thread", "is not a thread with its version")
        try:
            ticked.setdefault(UUID(ident), int(version))
        except ValueError:
            raise errors.Invalid("$.thread", "is not a thread with its version") from None
    if not ticked:
        raise errors.Invalid("$.thread", "Tick at least one thread.")
    return ticked


def _too_many(versions: Mapping[UUID, int]) -> dict[str, str]:
    n = len(versions)
    text = f"{n:,} threads were ticked; these are the first {AT_ONCE}."
    return {"thread": text} if n > AT_ONCE else {}


def _channels(rows: Sequence[ThreadRow]) -> list[str]:
    """The channels that can be edited together: those of the first thread's agent version."""
    if not rows:
        return []
    return list(fields.channels(queries.agent_version(rows[0].agent_version_id).schema))


def _changes(
    form: Mapping[str, str], versions: Mapping[UUID, int], workspace: UUID
) -> dict[str, Any]:
    """The new value as the channel's input reads it; raises Invalid."""
    rows = _rows(dict.fromkeys(versions, 0), workspace)
    channel, text = form.get("channel", ""), form.get("value", "")
    if channel not in _channels(rows[:1]):
        raise errors.Invalid("$.channel", "Choose the value to edit.")
    schema = queries.agent_version(rows[0].agent_version_id).schema
    posted = {fields.PREFIX + channel: text}
    changes, problems = fields.parse(schema, {}, posted, only=(channel,))
    if problems or channel not in changes:
        raise errors.Invalid("$.value", problems.get(channel, "Write the new value."))
    return changes


def _bulk_action(request: HttpRequest, versions: Mapping[UUID, int], workspace: UUID) -> BulkAction:
    form = request.POST
    name, to = form.get("action", ""), form.get("to", "").strip()
    if name == "roll_back" and not (to.isascii() and to.isdecimal() and len(to) < 10):
        raise errors.Invalid("$.to", "must be the number of a checkpoint")
    return BulkAction(
        name,
        to=int(to) if name == "roll_back" else None,
        undo=name == "cancel" and bool(form.get("undo")),
        reason=forms.text(request, "reason"),
        changes=_changes(form, versions, workspace) if name == "edit" else {},
        then_retry=name == "edit" and bool(form.get("then_retry")),
    )


def _rows(versions: Mapping[UUID, int], workspace: UUID) -> list[ThreadRow]:
    known = queries.in_workspace(list(versions)[:AT_ONCE], workspace=workspace)
    return [queries.thread(i, workspace=workspace) for i in versions if i in known]


def _board(text: str, workspace: UUID) -> str:
    """The address of a board as a form posts it; of the whole board where none can be opened."""
    try:
        return read_address(text, workspace).text
    except (errors.Invalid, InvalidValue):
        return ""


def _address(board: str) -> str:
    return reverse("board") + (f"?{board}" if board else "")
