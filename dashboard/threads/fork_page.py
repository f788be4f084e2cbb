"""Fork a thread: values by fields or as JSON, a preview of the differences, then the fork."""

from __future__ import annotations

import json
from collections.abc import Mapping
from decimal import Decimal
from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from checkpoints import queries
from checkpoints.limits import TITLE_MAX
from checkpoints.views import CheckpointRow, ThreadRow
from dashboard import errors
from dashboard.fields import state_text
from dashboard.fields.parameters import ID, NUMBER_OR_ID
from dashboard.fields.shapes import ForkPreview
from dashboard.kit.inputs import declared
from dashboard.kit.pages import forms
from dashboard.kit.pages.addresses import takes
from dashboard.kit.pages.base import SeeOther, actor, flash, member, thread_url
from dashboard.threads.checkpoint_forms import (
    ahead_of,
    checkpoint_of,
    form_page,
    head_of,
    thread_for,
    values_at,
)
from dashboard.threads.counterfactual_page import counterfactual
from dashboard.threads.fork import Fork, preview_fork
from dashboard.threads.fork import fork as fork_thread
from dashboard.threads.plans.changes import ForkPlan
from dashboard.threads.plans.expected_calls import AGAIN, MAYBE
from dashboard.threads.state_form import Budget, StateForm, digest_of

PREVIEW, CREATE = "preview", "create"


@form_page
@member
@takes(checkpoint=NUMBER_OR_ID, instead_of=ID)
def fork(request: HttpRequest, thread_id: UUID) -> HttpResponse:
    """A new thread from a checkpoint (the head when none is named) with other values.

    With ?instead_of= it is one in which that call has another output. A button `act` of the value
    "preview" shows what would differ; "create" forks if that was shown, else shows it first.
    """
    thread = thread_for(request, "fork", thread_id)
    if request.GET.get("instead_of"):
        return counterfactual(request, thread, UUID(request.GET["instead_of"]))
    target = checkpoint_of(request, thread) or head_of(thread)
    schema = queries.agent_version(target.agent_version_id).schema
    values, away = values_at(thread, target)
    as_it_is = bool(request.POST.get("as_it_is"))
    if request.method == "POST" and away and not as_it_is:
        raise errors.StorageAway(away)
    if as_it_is or away:
        schema = {}  # no value can be changed
    page = ForkPage(request, thread, target, schema, values)
    page.context |= {"away": away, "as_it_is": as_it_is or bool(away)}
    return page.posted() if request.method == "POST" else page.render({}, 200)


class ForkPage:
    """One look at the form of a fork, and what is done with it."""

    def __init__(
        self,
        request: HttpRequest,
        thread: ThreadRow,
        target: CheckpointRow,
        schema: dict[str, Any],
        values: dict[str, Any],
    ) -> None:
        post = request.POST
        self.request, self.who = request, actor(request)
        self.thread, self.target, self.schema, self.values = thread, target, schema, values
        self.plan = preview_fork(self.who, thread.id, target.id)
        self.state = StateForm.of(request, schema, values)
        self.budget = Budget.of(request)
        self.suggested = f"{thread.title} (fork)"[:TITLE_MAX]
        self.title = post.get("title", self.suggested).strip()
        self.effects = post.get("effects", "ask")
        self.reason = forms.text(request, "reason")
        shown = json.dumps(self.plan.config, ensure_ascii=False, indent=2, sort_keys=True)
        self.config = post.get("config", shown)
        self.context: dict[str, Any] = {}

    def render(self, problems: Mapping[str, str], status: int, **more: Any) -> HttpResponse:
        """The form with what was typed; `more` is what a preview shows."""
        large = self.target.state_bytes > state_text.SHOWN_BYTES
        context = {
            "thread": self.thread,
            "checkpoint": self.target,
            "fields": forms.state_fields(
                self.schema, self.values, self.request, problems, compare=True
            ),
            "by": self.state.by,
            "state": "" if large else self.state.text,
            "state_too_large": large,
            "effects": self.effects,
            "declared": declared(
                *(Fork, ["title", "reason"], self.request.POST.dict(), problems),
                opened={"title": self.suggested},
            ),
            "config": self.config,
            "budget": self.budget,
            "preview": _preview(self.plan),
            "errors": problems,
            **self.context,
            **more,
        }
        return render(self.request, "threads/fork.html", context, status=status)

    def posted(self) -> HttpResponse:
        """Read the form, then show what would differ, or fork; problems come back beside it."""
        changes, problems = self.state.changes(self.request, self.who, self.schema, self.values)
        limits, wrong = self.budget.read()
        if problems | wrong:
            return self.render(problems | wrong, 422)
        act = self.request.POST.get("act", "")
        try:
            other = forms.changed_config(self.plan.config, self.config)
            if act:
                seen = digest_of(changes, other, limits, self.effects)
                known = self.request.POST.get("seen", "")
                if act != CREATE or known != seen:
                    again = act == CREATE and known != ""
                    return self._preview(changes, other, limits, seen=seen, again=again)
            new_thread = fork_thread(
                *(self.who, self.thread.id, self.target.id, changes, self.title, self.effects),
                *(self.reason, other),
                budget=limits or None,
            )
        except (errors.Forbidden, errors.Missing, errors.NeedsSecondPerson):
            raise
        except errors.ActionError as error:
            problems = forms.problems_of(error, self.schema)
            return self.render(self.state.refused(problems, self.schema, changes), error.status)
        flash(self.request, "Forked. The original doesn’t change.")
        return SeeOther(thread_url(new_thread))

    def _preview(
        self, changes: dict[str, Any], other: dict[str, Any], limits: dict[str, Any], **more: Any
    ) -> HttpResponse:
        """The form below what would differ, and what that is expected to cost."""
        former = self.plan.config
        self.plan = preview_fork(
            self.who, self.thread.id, self.target.id, changes, other, budget=limits or None
        )
        shown = {
            "plan": self.plan,
            "old_state": self.values,
            "new_state": self.values | changes,
            "old_config": former,
            "schema": self.schema,
            "stored": self.state.stored(self.request, changes),
            "beyond": _beyond(self.plan, limits),
        }
        return self.render({}, 200, **shown, **more)


def _preview(plan: ForkPlan) -> ForkPreview:
    return ForkPreview(
        **ahead_of(plan.expected), first_effect=plan.first_effect, config=plan.config
    )


def _beyond(plan: ForkPlan, limits: Mapping[str, Any]) -> bool:
    """Return whether the calls that are made again may cost more than the budget allows."""
    expected = plan.expected
    tokens = sum(expected.tokens(fate) for fate in (AGAIN, MAYBE))
    cost = sum(Decimal(expected.cost(fate)) for fate in (AGAIN, MAYBE))
    over_tokens = "tokens" in limits and tokens > limits["tokens"]
    return over_tokens or ("cost" in limits and cost > Decimal(limits["cost"]))
