"""The search of the records: questions across all threads, their answers, and what takes them away.

It reads what API and command answer as well.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast
from uuid import UUID

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.urls import reverse
from django.utils.http import urlencode

from approvals.records import COUNT_CAP, Answers, RecordRow
from approvals.verification.integrity import ThreadIntegrity, summary_of
from checkpoints.addresses import thread_address
from checkpoints.states import EventKind
from dashboard.approvals.report_outcomes import outcomes_in_words
from dashboard.board.filters.records import EVERYTHING, RECORDS
from dashboard.board.saved_views.question_bar import question_bar
from dashboard.board.saved_views.questions import named
from dashboard.errors import Invalid
from dashboard.fields.filters import form_inputs, page_values
from dashboard.fields.parameters import CURSOR, TEXT_MAX, one_of
from dashboard.identity.people import people
from dashboard.identity.permissions import may
from dashboard.kit.pages import record_pages
from dashboard.kit.pages.addresses import refuse_value, takes
from dashboard.records.exports.rows import FORMS
from dashboard.threads.capsules.downloads import download
from dashboard.wording import sentences
from dashboard.wording.events import event_sentence
from dashboard.wording.parties import Recognised, recognised

from .export import export_records
from .search import ask, integrity_of_answers

TAKEN = page_values(RECORDS)
NOUNS = tuple(sorted({str(kind).partition(".")[0] for kind in EventKind}))
KINDS = {EVERYTHING: "With the steps"} | {noun: noun for noun in NOUNS}
FOLDED = [one for one in RECORDS if one.folded]
SHOWN = [one for one in RECORDS if not one.folded]
LABELS = (("csv", "CSV"), ("jsonl", "JSON Lines"), ("otlp", "OpenTelemetry logs"))
CURSOR_PATHS = ("cursor", "$.cursor")
NOTHING = Answers((), "", 0, True)


@dataclass(frozen=True, slots=True)
class Line:
    """An event as the page shows it."""

    row: RecordRow
    who: str
    says: str
    request: str
    about: Recognised
    address: str
    report: str
    came_of: str
    damage: str
    unchecked: bool


@takes(p=CURSOR, **TAKEN)
def search(request: HttpRequest) -> HttpResponse:
    """The form and a page of answers; before a question the newest events."""
    who = record_pages.actor(request)
    values = _texts(request)
    cursor = request.GET.get("p", "")
    fault, answers, status = "", NOTHING, 200
    try:
        answers = ask(who, values, cursor=cursor)
    except Invalid as error:
        if error.path in CURSOR_PATHS:
            return refuse_value(request, "p", cursor, CURSOR)
        fault, status = f"{error.faults[0].path}: {error.faults[0].message}.", 422
    words = named(values)
    integrity = integrity_of_answers(who, answers)
    context = {
        "values": values,
        "named": words,
        "fault": fault,
        "answers": answers,
        "lines": _lines(answers, integrity),
        "checked": summary_of(integrity.values()),
        "count_cap": COUNT_CAP,
        "first_page": not cursor,
        "newest": f"?{urlencode(words)}",
        "older": f"?{urlencode(words | {'p': answers.next_cursor})}",
        "inputs": form_inputs(SHOWN, values, {"kind": KINDS}),
        "folded": form_inputs(FOLDED, values),
        "folded_words": ", ".join(one.label for one in FOLDED).capitalize(),
        "folded_open": any(values[one.name] for one in FOLDED),
        "forms": LABELS,
        "may_export": may(who, "export"),
        "query": urlencode(words),
        "text_max": TEXT_MAX,
        "saved": question_bar(who, words, wrong=bool(fault)),
    }
    template, title = "records/search.html", "Search the record"
    return record_pages.page(request, template, title, context, status=status)


@takes(p=CURSOR, form=one_of(FORMS), **TAKEN)
def export(request: HttpRequest) -> HttpResponse | StreamingHttpResponse:
    """The same events as a file; a part of them where there are many."""
    if request.method != "GET":
        raise PermissionDenied("An export is read, and recorded, by GET.")
    who = record_pages.actor(request)
    cursor = request.GET.get("p", "")
    try:
        part = export_records(
            who,
            _texts(request),
            form=request.GET.get("form", "") or "jsonl",
            cursor=cursor,
        )
    except Invalid as error:
        if error.path in CURSOR_PATHS:
            return refuse_value(request, "p", cursor, CURSOR)
        raise
    return download(request, part)


def _texts(request: HttpRequest) -> dict[str, str]:
    """{name: text} of all filters of the address."""
    return {one.name: request.GET.get(one.name, "") for one in RECORDS}


def _lines(answers: Answers, integrity: Mapping[UUID, ThreadIntegrity]) -> list[Line]:
    rows = answers.rows
    names = people(row.actor for row in rows)
    results = []
    for row in rows:
        outcomes = answers.outcomes_of(row)
        came_of = outcomes_in_words(outcomes.rows, complete=outcomes.complete)
        results.append(_line(row, names, integrity[row.thread], came_of))
    return results


def _line(
    row: RecordRow, names: Mapping[str, str], integrity: ThreadIntegrity, came_of: str
) -> Line:
    report = "" if row.approval is None else reverse("approval_report", args=[row.approval])
    says = event_sentence(cast(Any, row), names)
    return Line(
        row=row,
        who=sentences.person(row.actor, names, imported=row.imported),
        says=says,
        request="" if row.request in says else row.request,
        about=recognised(row.args),
        address=thread_address(row.thread, checkpoint=row.checkpoint, event=row.seq),
        report=report,
        came_of=came_of,
        damage=integrity.damage_at(row.seq),
        unchecked=integrity.state_at(row.seq) == "unchecked",
    )
