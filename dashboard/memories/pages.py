"""Pages of memory: the list with its search, one memory, and the dialogs of its changes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.http import require_safe

from checkpoints import queries, store
from checkpoints.errors import NotFound
from checkpoints.memories import MemoryRow
from checkpoints.queries import Progress
from dashboard.errors import Invalid, translated
from dashboard.fields.filters import PAGE, form_inputs, given_at, page_values, read
from dashboard.fields.parameters import ID, QUERY, TEXT_MAX
from dashboard.fields.shapes import Option
from dashboard.identity.people import people
from dashboard.identity.permissions import Actor, may
from dashboard.kit.dialog import dialog
from dashboard.kit.pages.addresses import takes
from dashboard.kit.pages.base import actor, member
from dashboard.wording.memories import KIND_WORDS, SCOPE_WORDS, memory_lines
from dashboard.wording.sentences import person
from workers.language.embeddings import model_name

from .actions import CORRECT, FORGET, FORGET_AFTER, REMEMBER, remembered_since
from .filters import MEMORIES
from .reads import list_memories, one_memory, seen_memory

FILTERS: Final = given_at(MEMORIES, PAGE)
USUAL: Final = {"state": "kept"}
ROWS: Final = 50


@require_safe
@member
@takes(q=QUERY, cursor=ID, **page_values(MEMORIES))
@translated()
def index(request: HttpRequest) -> HttpResponse:
    """Memories, the newest first; a search shows the best matches."""
    who = actor(request)
    texts = {one.name: request.GET.get(one.name, "").strip() for one in FILTERS}
    if not any(texts.values()) and "state" not in request.GET:
        texts |= USUAL
    query = request.GET.get("q", "").strip()
    cursor = request.GET.get("cursor", "")
    values = read(FILTERS, texts) | ({"q": query} if query else {})
    shown = list_memories(who, values, after=UUID(cursor) if cursor else None, limit=ROWS)
    agents = sorted({one.agent for one in queries.agents(workspace=who.workspace)})
    texts_of_address = {name: text for name, text in {"q": query, **texts}.items() if text}
    more = (
        urlencode(texts_of_address | {"cursor": str(shown.next_cursor)})
        if shown.next_cursor
        else ""
    )
    thread = _thread(who, texts["thread"])
    context = {
        "rows": memory_lines(shown.results),
        "query": query,
        "inputs": form_inputs(FILTERS, texts, {"agent": {name: name for name in agents}}),
        "thread": thread,
        "outside": bool(texts["outside"]),
        "narrowed": bool(query) or texts != {**dict.fromkeys(texts, ""), **USUAL},
        "more": f"{reverse('memories')}?{more}" if more else "",
        "may_add": may(who, REMEMBER.right),
        "text_max": TEXT_MAX,
        "words_alone": shown.words_alone,
        "vectors": _progress(who),
    }
    return render(request, "memories/list.html", context)


@require_safe
@member
@translated()
def detail(request: HttpRequest, memory_id: UUID) -> HttpResponse:
    """One memory: its text, who reads it, where it came from, what it said before."""
    who = actor(request)
    row = one_memory(who, memory_id)
    names = people({one.author for one in row.former})
    context = {
        "memory": row,
        "line": memory_lines([row])[0],
        "former": [(one, person(one.author, names)) for one in row.former],
        "thread": _thread(who, str(row.thread or "")),
        "own": _thread(who, row.owner) if row.scope == "thread" else None,
        "may_change": may(who, CORRECT.right) and row.gone_at is None,
    }
    return render(request, "memories/detail.html", context)


def _progress(who: Actor) -> Progress | None:
    """The memories that are found by meaning; None where no model is configured."""
    model = model_name()
    return queries.vector_progress(model, workspace=who.workspace) if model else None


def _thread(who: Actor, ident: str) -> Any:
    """The thread that a memory names; None where there is none."""
    if not ident:
        return None
    try:
        return queries.thread(UUID(ident), workspace=who.workspace)
    except (ValueError, NotFound):
        return None


# ---- dialogs -------------------------------------------------------------------------------------


def _remember(who: Actor, texts: Mapping[str, str], *_: object) -> dict[str, Any]:
    """The agents and people whose it may be."""
    return {
        "options": {
            "scope": [Option(name, word) for name, word in SCOPE_WORDS.items()],
            "kind": [Option(name, word) for name, word in KIND_WORDS.items()],
        },
    }


def _one(who: Actor, texts: Mapping[str, str], *_: object, memory_id: UUID) -> dict[str, Any]:
    """The memory as it is; refused where it is gone."""
    row = seen_memory(who, memory_id)
    store.refuse_gone(row)
    return {"memory": row, "line": memory_lines([row])[0]}


def _correct(who: Actor, texts: Mapping[str, str], *_: object, memory_id: UUID) -> dict[str, Any]:
    """The form begins with the text as it is."""
    more = _one(who, texts, memory_id=memory_id)
    row: MemoryRow = more["memory"]
    revision = texts.get("revision", str(row.revision))
    return more | {"opened": {"text": row.text}, "rest": [("revision", revision)]}


def _after(who: Actor, texts: Mapping[str, str], *_: object) -> dict[str, Any]:
    """Memories of the thread since the checkpoint."""
    try:
        thread, checkpoint = UUID(texts.get("thread", "")), UUID(texts.get("checkpoint", ""))
    except ValueError:
        raise Invalid("$.thread", "name a thread and one of its checkpoints") from None
    rows = remembered_since(who, thread, checkpoint)
    return {
        "thread": queries.thread(thread, workspace=who.workspace),
        "checkpoint": queries.checkpoint(thread, checkpoint),
        "lines": memory_lines(rows),
        "rest": [("thread", str(thread)), ("checkpoint", str(checkpoint))],
    }


remember = dialog(
    REMEMBER,
    "memories/remember.html",
    _remember,
    fields=("text", "scope", "owner", "kind", "outside"),
    address={},
    back="memories",
)
correct = dialog(CORRECT, "memories/correct.html", _correct, fields=("text", "reason"))
forget = dialog(FORGET, "memories/forget.html", _one, fields=("reason",))
forget_after = dialog(
    FORGET_AFTER,
    "memories/forget_after.html",
    _after,
    fields=("reason",),
    address={"thread": ID, "checkpoint": ID},
    back="memories",
)
