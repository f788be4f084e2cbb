"""The dialog of an action on a page: what it would do, its fields, what was refused beside them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_http_methods
from pydantic import BaseModel

from checkpoints.state import deltas
from dashboard import errors
from dashboard.fields.parameters import Values
from dashboard.fields.shapes import Field
from dashboard.identity.permissions import Actor, require
from dashboard.kit.pages import forms
from dashboard.kit.pages.addresses import takes
from dashboard.kit.pages.base import SeeOther, actor, flash, member, refused, version_of

from .action import Action, read
from .inputs import fields_of, from_texts

CHANGED = "The selection was changed; check the new numbers, then confirm."
# (person, texts of the form or address, selection and plan or None, ids of the address) -> context.
type Shown = Callable[..., Mapping[str, Any]]


def dialog(
    action: Action[Any, Any],
    template: str,
    shown: Shown,
    *,
    fields: Sequence[str] = (),
    address: Mapping[str, Values] | None = None,
    back: str = "",
    values: Callable[[Mapping[str, str]], dict[str, Any]] | None = None,
) -> Callable[..., Any]:
    """The page of an action: a GET shows it, a POST performs it and leads to the page `back`.

    Without `back` that is the page of its target. `fields` are those that a person fills in and the
    template does not draw itself, `address` the parameters that the page takes, `values` reads the
    input where a form says it otherwise than by a text a field. Where `shown` names values as
    `opened`, the form begins with them.

    1. Check the right, read what was sent and plan the selection, where there is a preview.
    2. Ask `shown` for what the page says; a target that allows it no more is refused.
    3. A GET and `do=count` show the form with the plan.
    4. Refuse a selection whose plan nobody saw.
    5. Perform the action and lead on; a refusal comes back beside its field.
    """

    @require_http_methods(["GET", "POST"])
    @member
    @takes(**(address or {}))
    def page(request: HttpRequest, /, **target: UUID) -> HttpResponse:
        who = actor(request)
        require(who, action.right)
        posted = request.method == "POST"
        texts = (request.POST if posted else request.GET).dict()
        chosen, plan, problems = _planned(action, who, texts, target)
        seen = _canonical(chosen) if chosen else ""
        leads = reverse(back) if back else reverse(action.page, args=[*target.values()])
        try:
            more = shown(who, texts, chosen, plan, **target)
        except errors.NotAllowedNow as error:
            return refused(request, error, back="" if back else leads)

        def form(problems: Mapping[str, str], status: int) -> HttpResponse:
            options = more.get("options", {})
            context = {
                "address": request.path,
                "fields": _focused(
                    fields_of(action.takes, fields, texts, problems, options, more.get("opened"))
                ),
                "errors": problems,
                "plan": plan,
                "seen": seen,
                "previews": action.preview is not None,
                "back": leads,
                **more,
            }
            return render(request, template, context, status=status)

        if not posted or texts.get("do") == "count":
            return form(problems, 422 if problems else 200)
        if not problems and texts.get("seen", "") != seen:
            problems = {forms.WHOLE: CHANGED}
        if problems:
            return form(problems, 422)
        try:
            payload = values(texts) if values else from_texts(action.takes, texts)
            wanted = read(action.takes, payload)
            version = version_of(request) if action.versioned else None
            result = action.run(who, wanted, *target.values(), expected_version=version)
        except (errors.Forbidden, errors.Missing, errors.NeedsSecondPerson):
            raise
        except errors.ActionError as error:
            return form(forms.problems_of(error), error.status)
        flash(request, action.done(wanted, result))
        return SeeOther(leads)

    vars(page)["action"] = action
    return page


def _planned(
    action: Action[Any, Any], who: Actor, texts: Mapping[str, str], target: Mapping[str, UUID]
) -> tuple[Any, Any, dict[str, str]]:
    """(the selection of a preview, its plan, what was refused of it); None without a preview."""
    if action.preview is None:
        return None, None, {}
    try:
        chosen = read(action.preview.takes, from_texts(action.preview.takes, texts))
        return chosen, action.plan(who, chosen, *target.values()), {}
    except errors.Invalid as error:
        return None, None, forms.problems_of(error)


def _canonical(chosen: BaseModel) -> str:
    return deltas.canonical(chosen.model_dump(mode="json", exclude_defaults=True)).decode()


def _focused(fields: list[Field]) -> list[Field]:
    """The fields; the first one that is needed has the focus."""
    first = next((one for one in fields if one.required), None)
    return [
        replace(one, attrs=one.attrs | {"autofocus": ""}) if one is first else one for one in fields
    ]
