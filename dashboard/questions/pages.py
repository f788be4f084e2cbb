"""The pages of questions to the record: the form with earlier ones, and an answer."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, Final
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.http import require_http_methods, require_safe

from checkpoints import queries
from checkpoints.addresses import thread_address
from checkpoints.limits import AGENT_MAX
from checkpoints.queries.history import asked
from checkpoints.queries.history.asked import QuestionRow
from dashboard import errors
from dashboard.errors import Missing
from dashboard.fields.parameters import ID, text_of
from dashboard.identity.people import people
from dashboard.identity.permissions import Actor
from dashboard.kit.action import read
from dashboard.kit.inputs import from_texts
from dashboard.kit.pages import forms
from dashboard.kit.pages.addresses import takes
from dashboard.kit.pages.base import SeeOther, actor, member

from .ask import (
    ASK_RECORD,
    INCOMPLETE,
    QUESTION_MAX,
    AnswerEstimate,
    AnswerUsage,
    AskRecord,
    estimate_words,
    usage_words,
)
from .generation import is_configured

SHOWN: Final = 20
SCOPES: Final = ("thread", "agent")


@require_http_methods(["GET", "POST"])
@member
@takes(thread=ID, agent=text_of(AGENT_MAX), question=text_of(QUESTION_MAX))
def questions(request: HttpRequest) -> HttpResponse:
    """The form and earlier questions; a POST asks and leads to the answer."""
    who = actor(request)
    posted = request.method == "POST"
    texts = forms.posted(request) if posted else request.GET.dict()
    problems: dict[str, str] = {}
    status = 200
    if posted:
        try:
            wanted = read(AskRecord, from_texts(AskRecord, texts))
            return SeeOther(reverse("question", args=[ASK_RECORD.run(who, wanted).id]))
        except (errors.Forbidden, errors.Missing):
            raise
        except errors.ActionError as error:
            problems, status = forms.problems_of(error), error.status
    rows = asked.newest_questions(
        who.workspace, by="" if _sees_all(who) else _person(who), limit=SHOWN
    )
    names = people(row.asked_by for row in rows)
    context = {
        **_form(who, texts),
        "errors": problems,
        "rows": [(row, names.get(row.asked_by, "")) for row in rows],
    }
    return render(request, "questions/questions.html", context, status=status)


@require_safe
@member
def question(request: HttpRequest, question_id: UUID) -> HttpResponse:
    """A question with its answer as it was given, each sentence with its event."""
    who = actor(request)
    row = asked.question(question_id, workspace=who.workspace)
    if not (_sees_all(who) or row.asked_by.partition("/")[0] == _person(who)):
        raise Missing("There is no such question in this workspace.")
    texts = {name: str(row.scope.get(name, "")) for name in SCOPES}
    context = {
        **_form(who, texts),
        "row": row,
        "by": people([row.asked_by]).get(row.asked_by, ""),
        "sentences": [] if row.is_erased else _sentences(row),
        "missing": [] if row.is_erased else row.answer.get("missing", []),
        # A question that an earlier version recorded does not say.
        "incomplete": "" if row.is_erased or row.answer.get("complete", True) else INCOMPLETE,
        "log": _log(row),
        **({} if row.is_erased else _by_model(row)),
        "errors": {},
    }
    return render(request, "questions/question.html", context)


def _form(who: Actor, texts: dict[str, str]) -> dict[str, Any]:
    """Values of the form: the question, and what of the workspace it is about."""
    thread = title = ""
    with suppress(ValueError):  # no page has a posted id that is none; the problem names it
        thread = str(UUID(texts.get("thread", "")))
        title = queries.thread(UUID(thread), workspace=who.workspace).title
    return {
        "question": texts.get("question", ""),
        "thread_id": thread,
        "thread_title": title,
        "agent": texts.get("agent", ""),
        "question_max": QUESTION_MAX,
    }


def _sentences(row: QuestionRow) -> list[dict[str, Any]]:
    return [
        {**one, "address": thread_address(UUID(one["thread"]), event=one["seq"])}
        for one in row.answer.get("sentences", [])
    ]


def _by_model(row: QuestionRow) -> dict[str, Any]:
    """The model's part: what it took and wrote, or what it would take."""
    estimate, usage = row.answer.get("estimate"), row.answer.get("usage")
    offered = None if usage or not is_configured() else estimate
    return {
        "struck": row.answer.get("struck", []),
        "fallback": row.answer.get("fallback", ""),
        "model": (usage or estimate or {}).get("model", ""),
        "is_written": bool(usage) and not row.answer.get("fallback"),
        "took": usage_words(AnswerUsage(**usage)) if usage else "",
        "offer": estimate_words(AnswerEstimate(**offered)) if offered else "",
        "again": [("question", row.question), *row.scope.items(), ("generate", "true")],
    }


def _log(row: QuestionRow) -> str:
    """The page of all events that a question is about."""
    if thread := row.scope.get("thread"):
        return thread_address(UUID(thread))
    agent = row.scope.get("agent", "")
    return reverse("board") + (f"?{urlencode({'agent': agent})}" if agent else "")


def _person(who: Actor) -> str:
    return who.id.partition("/")[0]


def _sees_all(who: Actor) -> bool:
    return bool({"auditor", "admin"} & set(who.roles))
