"""Approve with other arguments: a form made from the tool's JSON Schema, or the JSON itself."""

from __future__ import annotations

import json
from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe

from approvals.queries import ApprovalRow
from checkpoints import queries
from dashboard import errors
from dashboard.fields import form as fields
from dashboard.fields.faults import beside, location, named, schema_faults, sentence
from dashboard.html.differences import same
from dashboard.identity.permissions import require
from dashboard.kit.action import read
from dashboard.kit.pages import forms
from dashboard.kit.pages.base import actor, member, refused

from . import confirmation, second_question
from . import next_request as flow
from .after_verdict import notice, onward
from .decide import DECIDE, Decide
from .request_page import page_for
from .request_reads import ApprovalPage

PAGE = "approvals/edit.html"
FORM, JSON = "form", "json"
EDITED_MAX = 300_000  # characters of arguments that a page offers for an edit
PREVIEW = "preview"


@require_safe
@member
def edit(request: HttpRequest, approval_id: UUID) -> HttpResponse:
    """The form over the arguments that stand; it is sent to the request's own address."""
    require(actor(request), "decide")
    page = page_for(request, approval_id)
    row = page.approval
    if not row.gate or not isinstance(row.shown_args, dict):
        why = errors.Conflict("This request has no arguments that could be edited.")
        return _refused(request, row.id, why)
    if not row.open:
        return _ended(request, row)
    return _form(request, page, {}, 200)


def send(
    request: HttpRequest, page: ApprovalPage, following: flow.NextRequest | None
) -> HttpResponse:
    """Take the edited arguments, or show what they change; what is refused comes back at its field.

    A preview decides nothing.
    """
    row = page.approval
    args, problems = _read(request, page)
    if problems:
        return _form(request, page, problems, 422)
    if request.POST.get("act") == PREVIEW:
        if not row.open:
            return _ended(request, row)
        if page.changed:  # The form comes back with the changes of both first.
            return _form(request, page, {}, 409)
        return _form(request, page, {}, 200, _changes(page, args))
    if question := second_question.ask(request, page, "edit", args):
        return question
    void = page.progress.got
    try:
        who = confirmation.confirmed(request)
        comment = request.POST.get("comment", "").replace("\r\n", "\n")
        fields_sent = {
            "verdict": "edit",
            "proposal_hash": page.seen,
            "comment": comment,
            "args": args,
        }
        done = DECIDE.run(who, read(Decide, fields_sent), row.id)
    except errors.Missing:
        raise
    except errors.ActionError as error:
        again = page_for(request, row.id, seen=page.seen)
        if not again.approval.open:
            return _refused(request, row.id, error)
        if asks := confirmation.needed(request, error):
            return _form(request, again, {}, error.status, asks)
        return _form(request, again, problems_of(error), error.status)
    return onward(request, done, notice(page_for(request, row.id), done, "edit", void), following)


def _ended(request: HttpRequest, row: ApprovalRow) -> HttpResponse:
    """The refusal of a request that is no longer open."""
    why = errors.Conflict(f"The request is {row.status}; there is nothing left to edit.")
    return _refused(request, row.id, why)


def _refused(request: HttpRequest, ident: UUID, why: errors.ActionError) -> HttpResponse:
    """A refusal with the way back to the request."""
    back = reverse("approval", args=[ident])
    return refused(request, why, back=back, label="Back to the request")


def _read(request: HttpRequest, page: ApprovalPage) -> tuple[Any, dict[str, str]]:
    """(the new arguments, {field, "args" for the JSON or "" for the whole: problem})."""
    row, schema = page.approval, page.schema
    if not isinstance(row.shown_args, dict):
        return None, {forms.WHOLE: "This request has no arguments that could be edited."}
    if request.POST.get("only") == "new":
        left = None if page.repeat is None else page.repeat.only_new
        why = "Either all of it was done before, or all of it is new."
        return left, {forms.WHOLE: why} if left is None else {}
    if _chosen(request) == JSON:
        try:
            args = fields.from_json(request.POST.get("args", "").strip() or "null")
        except fields.Unreadable as error:
            return None, {"args": str(error)}
        if not isinstance(args, dict):
            return None, {"args": "Give all arguments as one JSON object."}
        results = [named(fault) for fault in schema_faults(schema or {}, args)]
        return args, {"args": " ".join(results)} if results else {}
    if schema is None:
        return None, {forms.WHOLE: "The tool has no schema; edit the JSON."}
    changes, problems = fields.parse(
        schema, _opened_on(page), forms.posted(request), omittable=True
    )
    args = fields.without_absent({**row.shown_args, **changes})
    if not problems:
        for fault in schema_faults(schema, args):
            problems.setdefault(*beside(fault))
    return args, problems


def _chosen(request: HttpRequest) -> str:
    """Which of the two tabs was sent."""
    return request.POST.get("as") or (JSON if "args" in request.POST else FORM)


def problems_of(error: errors.ActionError) -> dict[str, str]:
    """{field: problem} of a refused edit; what belongs to no field under ""."""
    if not isinstance(error, errors.Invalid):
        return {forms.WHOLE: error.detail}
    results: dict[str, str] = {}
    for fault in error.faults:
        if fault.path.startswith("$.args."):
            inner = errors.Fault("$" + fault.path.removeprefix("$.args"), fault.message)
            results.setdefault(*beside(inner))
        elif fault.path == "$.comment":
            results["comment"] = sentence(fault.message)
        else:
            label = "The arguments" if fault.path == "$.args" else location(fault.path)[0]
            results[forms.WHOLE] = sentence(f"{label} {fault.message}")
    return results


def _opened_on(page: ApprovalPage) -> dict[str, Any]:
    """The arguments that the form showed when it was opened; what stands where nobody knows."""
    shown = page.seen_args if page.changed else None
    opened: dict[str, Any] = shown if isinstance(shown, dict) else page.approval.shown_args
    return opened


def _form(
    request: HttpRequest,
    page: ApprovalPage,
    problems: dict[str, str],
    status: int,
    more: dict[str, Any] | None = None,
) -> HttpResponse:
    """The form over what stands now, with what this person changed of what it showed before.

    `more` is what a preview or a confirmation shows.
    """
    row, schema = page.approval, page.schema
    posted = forms.posted(request) if request.method == "POST" else None
    editable = isinstance(row.shown_args, dict)
    draft = posted
    if posted is not None and page.changed and editable:
        draft = fields.touched(schema or {}, _opened_on(page), posted, omittable=True)
        if _chosen(request) == FORM:
            problems = forms.overtaken(draft, _opened_on(page), row.shown_args) | problems
    shown: list[Any] = []
    if schema is not None and editable:
        shown = fields.build(schema, row.shown_args, posted=draft, errors=problems, omittable=True)
    names = {field.channel for field in shown}
    raw, based_on = _raw(page, posted)
    too_large = len(raw) > EDITED_MAX
    if too_large:  # the page would have it twice
        shown, raw = [], ""
    raw_chosen = not shown or (posted is not None and posted.get("as", JSON) == JSON)
    # What belongs beside no input stands on top of the form.
    mine = {key: text for key, text in problems.items() if key not in names}
    context = {
        "approval": row,
        "based_on": based_on,
        "standing": page.progress,
        "fields": shown,
        "raw": raw,
        "too_large": too_large,
        "as_json": (raw_chosen and "args" in (posted or {"args": ""})) or not shown,
        "comment": "" if posted is None else posted.get("comment", ""),
        "errors": mine,
        "moved": page.changed,
    }
    context |= more or {}
    context["trail"] = flow.context(request, row.id)["trail"]
    return render(request, PAGE, context, status=status)


def _changes(page: ApprovalPage, args: Any) -> dict[str, Any]:
    """The context of a preview: the new arguments beside the current ones."""
    current = page.approval.shown_args
    return {
        "plan": {"patch": queries.diff(current, args)},
        "old_state": current,
        "new_state": args,
        "schema": page.schema,
    }


def _raw(page: ApprovalPage, posted: dict[str, str] | None) -> tuple[str, str]:
    """(all arguments as JSON, the hash of the proposal that the form is based on).

    A text that is no JSON cannot be merged with what stands now: it stays based on what it was
    written over, so that sending it cannot undo another person's edit.
    """
    row = page.approval
    now = json.dumps(row.shown_args, ensure_ascii=False, indent=2)
    if posted is None or "args" not in posted:
        return now, row.standing_hash
    text = posted["args"]
    if not page.changed:
        return text, row.standing_hash
    opened = _opened_on(page)
    try:
        wanted = fields.from_json(text.strip() or "null")
    except fields.Unreadable:
        return text, page.seen
    if not isinstance(wanted, dict):
        return text, page.seen
    merged = json.dumps(_merged(opened, wanted, row.shown_args), ensure_ascii=False, indent=2)
    return merged, row.standing_hash


def _merged(opened: dict[str, Any], wanted: dict[str, Any], now: dict[str, Any]) -> dict[str, Any]:
    """Merge one person's changed, added and removed arguments into the current ones."""
    merged = {name: value for name, value in now.items() if name in wanted or name not in opened}
    for name, value in wanted.items():
        if name not in opened or not same(value, opened[name]):
            merged[name] = value
    return merged
