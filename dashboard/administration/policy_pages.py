"""Policies and spend caps among the records: written, tried against the past, switched, ordered.

Auditors read these pages, admins change what they say.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial, wraps
from typing import Any, cast
from uuid import UUID

from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_POST

from approvals.policies import queries as queries_policies
from approvals.policies.affected_requests import PolicyPreview
from approvals.policies.conditions import claims, refusal
from approvals.policies.coverage import escapes_of, unannounced_names
from approvals.policies.facts import FACTS
from approvals.policies.queries import VersionRow
from approvals.policies.surprises import warnings
from checkpoints import queries
from checkpoints.errors import NotFound
from dashboard.administration import caps
from dashboard.administration.policies import WAITING, try_policy
from dashboard.administration.policy_calls import CHANGE, MAKE, PolicyChange
from dashboard.administration.policy_form import (
    PolicyForm,
    differences,
    form_of,
    seat_line,
    would_have,
)
from dashboard.errors import ActionError, Conflict, Forbidden, Invalid, Malformed, Missing
from dashboard.identity.people import people
from dashboard.identity.permissions import Actor, may
from dashboard.kit.action import read
from dashboard.kit.pages import forms
from dashboard.kit.pages.addresses import takes
from dashboard.kit.pages.base import SeeOther, flash
from dashboard.kit.pages.record_pages import actor, page, pressed

from .policy_examples import examples, tools_by_name

SHOWN = 100


@takes()
def index(request: HttpRequest) -> HttpResponse:
    """All policies in their order, and the spend caps."""
    return _index(request, {}, {})


@require_POST
def cap(request: HttpRequest) -> HttpResponse:
    """Make or change a spend cap; what is refused comes back as it was written."""
    texts = forms.posted(request)
    try:
        flash(request, caps.set_by_form(actor(request), texts))
    except (Forbidden, Missing):
        raise
    except ActionError as error:
        return _index(request, texts, forms.problems_of(error), status=error.status)
    return SeeOther(reverse("admin:policies"))


def _index(
    request: HttpRequest, texts: Mapping[str, str], problems: Mapping[str, str], status: int = 200
) -> HttpResponse:
    """The policies, the caps, and the form of a cap with what was written and refused."""
    who = actor(request)
    rows = queries_policies.policies(who.workspace)
    return _page(
        request,
        "administration/policies.html",
        "Policies",
        {
            "policies": [
                {
                    "row": row,
                    "place": i,
                    "refused": refusal(row.condition),
                    "claims": _claims(row),
                    "stages": "; then ".join(seat_line(s) for s in row.terms.stages),
                    "waiting": queries_policies.waiting(row.policy, workspace=who.workspace),
                }
                for i, row in enumerate(rows, 1)
            ],
            "caps": queries_policies.caps(who.workspace),
            "declared": caps.form_of(texts, problems),
            "errors": problems,
            "ephemeral": ephemeral_agents(who.workspace),
        },
        status=status,
    )


def ephemeral_agents(workspace: UUID) -> list[str]:
    """Agents that keep nothing: a call of theirs that a policy holds is refused."""
    return [one.label for one in queries.agents(workspace=workspace) if one.ttl is not None]


def add(request: HttpRequest) -> HttpResponse:
    """A new policy."""
    return _form(request, None)


def change(request: HttpRequest, policy_id: UUID) -> HttpResponse:
    """Another version of a policy, below it all that it said before."""
    return _form(request, _policy(request, policy_id))


def _form(request: HttpRequest, row: VersionRow | None) -> HttpResponse:
    who = actor(request)
    posted = request.method == "POST"
    form = PolicyForm(request.POST if posted else None, initial=form_of(row) if row else None)
    begins = examples(who.workspace)
    if (example := _chosen(request, begins)) is not None:
        posted = False
        form = PolicyForm(initial={**request.POST.dict(), "condition": example})
    context: dict[str, Any] = {"form": form, "row": row, "examples": begins}
    context["tools"] = tools_by_name(who.workspace)
    context["refused"] = refusal(row.condition) if row else ""
    context["claims"] = _claims(row) if row else ()
    context["facts"] = list(FACTS.items())
    text = str(form["condition"].value() or "")
    context["warnings"] = list(warnings(text))
    if row is None or row.condition != text:  # those of what is saved stand under "escapes"
        context["warnings"] += unannounced_names(text, workspace=who.workspace)
    status = 200
    if posted and not form.is_valid():
        status = 422
    elif posted:
        try:
            if request.POST.get("do") == "try":
                context["tried"] = _tried(who, form)
                context["touched"] = _touched(who, form, row)
            else:
                return _saved(request, who, form, row)
        except Invalid as error:
            form.refuse(error)
            status = error.status
        except (Forbidden, Missing):
            raise
        except ActionError as error:
            form.add_error(None, error.detail)
            status = error.status
            if row is not None and isinstance(error, Conflict):
                context["ask_waiting"] = True
                context["touched"] = _touched(who, form, row)
    if row is not None:
        context["escapes"] = escapes_of(row)
        versions = queries_policies.versions(row.policy, workspace=who.workspace)
        names = people(v.made_by for v in versions)
        older: list[VersionRow | None] = [*versions[1:], None]
        context |= {
            "n_waiting": queries_policies.waiting(row.policy, workspace=who.workspace),
            "waiting": request.POST.get("waiting", ""),
            "versions": [
                {
                    "row": v,
                    "by": names.get(v.made_by, v.made_by),
                    "changes": differences(v, before),
                }
                for v, before in zip(versions, older, strict=True)
            ],
        }
    title = f"Policy {row.name}" if row else "New policy"
    return _page(request, "administration/policy.html", title, context, status=status)


def _chosen(request: HttpRequest, begins: list[tuple[str, str]]) -> str | None:
    """The condition of the example that was pressed, or None."""
    name, _, number = request.POST.get("do", "").partition("-")
    if name != "example" or not number.isdecimal() or int(number) >= len(begins):
        return None
    return begins[int(number)][1]


def _claims(row: VersionRow) -> tuple[str, ...]:
    """The claims on which a policy would allow: it asks for each."""
    return claims(row.condition) if row.action == "allow" else ()


def _touched(who: Actor, form: PolicyForm, row: VersionRow | None) -> PolicyPreview:
    """Count the requests that the form would touch, as of the version that stands now."""
    if row is None:
        return cast(PolicyPreview, MAKE.plan(who, form.draft()))
    wanted = PolicyChange(draft=form.draft(), number=row.number)
    return cast(PolicyPreview, CHANGE.plan(who, wanted, row.policy))


def _tried(who: Actor, form: PolicyForm) -> dict[str, Any]:
    value = form.cleaned_data
    result = try_policy(who, value["condition"], value["action"])
    return {
        "would_have": would_have(result, value["action"]),
        "blocks": value["action"] == "block",
        "n": len(result.matched),
        "looked_at": result.looked_at,
        "there": result.there,
        "since": result.since,
        "matched": result.matched[:SHOWN],
        "more": max(0, len(result.matched) - SHOWN),
        "n_problems": sum(bool(one.problem) for one in result.matched),
    }


def _saved(
    request: HttpRequest, who: Actor, form: PolicyForm, row: VersionRow | None
) -> HttpResponse:
    draft = form.draft()
    if row is None:
        made = MAKE.run(who, draft)
        flash(request, MAKE.done(draft, made))
        return SeeOther(_url(made))
    waiting = request.POST.get("waiting", "")
    if waiting not in ("", *WAITING):
        raise Malformed("Choose what happens to waiting requests: keep or reopen.")
    values = {"draft": draft, "number": _number(request), "waiting": waiting}
    wanted = read(PolicyChange, values)
    result = CHANGE.run(who, wanted, row.policy)
    flash(request, CHANGE.done(wanted, result))
    return SeeOther(_url(result[0]))


def _button(view: Callable[..., str]) -> Callable[..., HttpResponse]:
    """A POST that leads back to the list with what was done, or why it was not."""

    @require_POST
    @wraps(view)
    def button(request: HttpRequest, **ids: UUID) -> HttpResponse:
        return pressed(request, partial(view, request, **ids), reverse("admin:policies"))

    return button


@_button
def switch(request: HttpRequest, policy_id: UUID) -> str:
    """On or off."""
    wanted = PolicyChange(active=request.POST.get("active") == "1")
    return CHANGE.done(wanted, CHANGE.run(actor(request), wanted, policy_id))


@_button
def move(request: HttpRequest, policy_id: UUID) -> str:
    """Move a policy to another position in the order."""
    wanted = read(PolicyChange, {"position": _number(request, "position")})
    return CHANGE.done(wanted, CHANGE.run(actor(request), wanted, policy_id))


def _policy(request: HttpRequest, policy_id: UUID) -> VersionRow:
    try:
        return queries_policies.policy(policy_id, workspace=actor(request).workspace)
    except NotFound as error:
        raise Http404 from error


def _number(request: HttpRequest, name: str = "number") -> int:
    raw = request.POST.get(name, "")
    if not (raw.isascii() and raw.isdecimal() and len(raw) < 9):
        raise Malformed(f"The form's {name} is not a number.")
    return int(raw)


def _url(row: VersionRow) -> str:
    return reverse("admin:policy", args=[row.policy])


def _page(
    request: HttpRequest, template: str, title: str, context: dict[str, Any], *, status: int = 200
) -> HttpResponse:
    context["may_change"] = may(actor(request), "policy")
    return page(request, template, title, context, status=status)
