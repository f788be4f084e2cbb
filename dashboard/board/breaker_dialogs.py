"""The dialogs of trip and release: what the board's address says, and how many continue."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.urls import reverse

from checkpoints import queries
from checkpoints.states import Status
from dashboard.errors import Invalid, NotAllowedNow
from dashboard.fields.parameters import TEXT, one_of
from dashboard.fields.shapes import Option
from dashboard.fields.thread_filters import selection_words
from dashboard.identity.people import people
from dashboard.identity.permissions import Actor
from dashboard.kit.dialog import dialog
from dashboard.kit.inputs import from_texts
from dashboard.wording.sentences import look

from .breaker_actions import RELEASE, TRIP, BreakerPreview, ReleaseBreaker, Selection
from .filters.address import NARROWS
from .open_breakers import open_breaker

PARTS, ALL = ("number", "percent"), "all"
# What the board is narrowed by beside the agent, which is a field; a breaker takes no status.
REST = [name for name in NARROWS if name != "agent"]
OTHERS = (Status.WAITING, Status.ATTENTION)


def _trip(
    who: Actor, texts: Mapping[str, str], chosen: Selection | None, plan: BreakerPreview | None
) -> dict[str, Any]:
    """The counted threads in words, and the dialog of many threads, which takes a status."""
    agents = {row.agent for row in queries.agents(workspace=who.workspace)}
    agents |= {texts.get("agent", "").strip()} - {""}
    statuses = texts.get("status", "").split(",")
    beside = [look(status).word.lower() for status in Status if status in statuses]
    beside += ["held"] if texts.get("held", "") else []
    words = _board_words(texts)
    leads = words and (beside or plan is None)
    counts = plan.statuses if plan else {}
    return {
        "words": selection_words(chosen.stored()) if chosen else "",
        "queued": sum(counts.get(status, 0) for status in (Status.QUEUED, Status.ROLLING_BACK)),
        "others": sum(counts.get(status, 0) for status in OTHERS),
        "beside": beside if plan else [],
        "many_address": reverse("threads_many", query=words) if leads else "",
        "back": reverse("board", query=words),
        "options": {"agent": [Option("", "All agents"), *(Option(a, a) for a in sorted(agents))]},
        "rest": [(name, texts[name]) for name in REST if texts.get(name, "")],
    }


def _board_words(texts: Mapping[str, str]) -> dict[str, str]:
    """Filters of the board that lists these threads; empty where it has no words for them."""
    words = {name: text for name in NARROWS if (text := texts.get(name, ""))}
    if label := texts.get("label", "").strip():
        key, colon, value = (part.strip() for part in label.partition(":"))
        if not (colon and key and value):
            return {}
        words["q"] = f"{words.get('q', '')} {queries.Term('label', (f'{key}={value}',))}".strip()
    return words


def _release(who: Actor, texts: Mapping[str, str], *_: object, breaker_id: UUID) -> dict[str, Any]:
    """The breaker, and the part that was chosen."""
    row = queries.breaker(breaker_id, workspace=who.workspace)
    if not row.is_open:
        raise NotAllowedNow("This breaker has been released already.")
    progress = queries.breaker_progress(who.workspace).get(row.id, queries.BreakerThreads())
    parts = {"some": PARTS[0], "number": "5", "percent": "10"}
    return {
        "breaker": open_breaker(row, progress, people([row.opened_by])),
        **{name: texts.get(name, usual) for name, usual in parts.items()},
    }


def _released_part(texts: Mapping[str, str]) -> dict[str, Any]:
    """The input of a release; only the part that was chosen counts. Raises Invalid."""
    some = texts.get("some", PARTS[0])
    if some not in (*PARTS, ALL):
        raise Invalid("$.some", "enter how many continue")
    if some != ALL and not texts.get(some, "").strip():
        raise Invalid(f"$.{some}", "is required")
    return from_texts(ReleaseBreaker, {**texts, **dict.fromkeys({*PARTS} - {some}, "")})


trip = dialog(
    TRIP,
    "board/trip.html",
    _trip,
    fields=("agent", "labels", "reason"),
    address={"label": TEXT, **NARROWS},
    back="board",
)
release = dialog(
    RELEASE,
    "board/release.html",
    _release,
    fields=("reason",),
    address={"some": one_of((*PARTS, ALL))},
    back="board",
    values=_released_part,
)
