"""Changes in the code offered to a thread, and one choice for all equal questions."""

from __future__ import annotations

from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from checkpoints import queries
from dashboard import errors
from dashboard.identity.permissions import lacks
from dashboard.kit.pages.base import actor
from dashboard.threads.code import Chosen, choose_code_many
from dashboard.threads.page.code_question import WORDS, changed_parts, choices_for

TEMPLATE = "threads/code.html"


def page(request: HttpRequest, thread_id: UUID, done: list[Chosen] | None = None) -> HttpResponse:
    """Old and new side by side, by function; below it the threads that ask the very same."""
    who = actor(request)
    row = queries.thread(thread_id, workspace=who.workspace)
    query = row.waiting_on if isinstance(row.waiting_on, dict) else {}
    asks = query.get("kind") == "code" and "version" in query
    offered = UUID(str(query["version"])) if asks else None
    rows = (
        queries.asking_alike(row.agent_version_id, offered, workspace=who.workspace)
        if offered is not None
        else []
    )
    context = {
        "thread": row,
        "changes": changed_parts(row),
        "hidden": lacks(who, "code"),
        "alike": rows,
        "choices": choices_for(who, row) if rows else [],
        "done": [(one, _title(one, who.workspace)) for one in done or ()],
    }
    return render(request, TEMPLATE, context)


def _title(one: Chosen, workspace: UUID) -> str:
    if isinstance(one.error, errors.Missing):
        return str(one.thread)
    return queries.thread(one.thread, workspace=workspace).title


def choose(request: HttpRequest, thread_id: UUID, choice: str) -> HttpResponse:
    """Make one choice for the ticked threads, and show the outcome of each."""
    try:
        threads = [UUID(value) for value in request.POST.getlist("thread")]
    except ValueError:
        raise errors.Invalid("$.thread", "is not the id of a thread") from None
    if choice not in WORDS:
        raise errors.Invalid("$.choice", "is not one of the buttons")
    return page(request, thread_id, choose_code_many(actor(request), threads, choice))
