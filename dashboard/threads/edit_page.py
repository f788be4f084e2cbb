"""Edit the state at the head: by fields or as JSON, a preview of the differences, then the edit."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, Final
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from approvals import queries as gates
from checkpoints import queries
from checkpoints.views import CheckpointRow, ThreadRow
from dashboard import errors
from dashboard.fields import form as fields
from dashboard.fields import state_text
from dashboard.fields.shapes import Ahead
from dashboard.identity.permissions import allowed_actions
from dashboard.kit.inputs import declared
from dashboard.kit.pages import forms
from dashboard.kit.pages.base import SeeOther, actor, flash, member, refused, thread_url, version_of
from dashboard.threads.checkpoint_forms import (
    ahead_of,
    checkpoint_of,
    form_page,
    head_of,
    thread_for,
    values_at,
)
from dashboard.threads.edit import Edit, preview_edit
from dashboard.threads.edit import edit as edit_thread
from dashboard.threads.state_form import BY_JSON, StateForm, digest_of

PREVIEW, SAVE = "preview", "save"
_BACK: Final = "Back to the thread"


@form_page
@member
def edit(request: HttpRequest, thread_id: UUID) -> HttpResponse:
    """Other values at the head, as a checkpoint by a person.

    A button `act` of the value "preview" shows what would differ; JSON is saved by "save" if that
    was shown, else it is shown first.
    """
    who, thread = actor(request), thread_for(request, "edit", thread_id)
    allowance = allowed_actions(who, thread)["edit"]
    back = thread_url(thread.id)
    if request.method != "POST" and not allowance.allowed:
        return refused(request, errors.NotAllowedNow(allowance.why), back=back)
    head = head_of(thread)
    values, away = values_at(thread, head)
    # What the form showed when it was opened: what differs from it is what this person wrote.
    seen = checkpoint_of(request, thread) if request.method == "POST" else None
    shown, away = (values, away) if seen is None else values_at(thread, seen)
    if away:
        return refused(request, errors.StorageAway(away), back=back, label=_BACK)
    page = EditPage(request, thread, head, values, seen or head, shown)
    return page.posted() if request.method == "POST" else page.render({}, 200)


class EditPage:
    """One look at the form of an edit, and what is done with it.

    `values` are those of the head now, `shown` those of the checkpoint that the form was made from.
    """

    def __init__(
        self,
        request: HttpRequest,
        thread: ThreadRow,
        head: CheckpointRow,
        values: dict[str, Any],
        seen: CheckpointRow,
        shown: dict[str, Any],
    ) -> None:
        self.request, self.who = request, actor(request)
        self.thread, self.head, self.values = thread, head, values
        self.seen, self.shown = seen, shown
        self.schema = queries.agent_version(head.agent_version_id).schema
        self.state = StateForm.of(request, self.schema, shown)
        self.reason = forms.text(request, "reason")

    @cached_property
    def draft(self) -> dict[str, str] | None:
        """The posted fields that differ from what the form showed."""
        if self.request.method != "POST" or "checkpoint" not in self.request.POST:
            return None
        return fields.touched(self.schema, self.shown, forms.posted(self.request))

    def render(self, problems: Mapping[str, str], status: int, **more: Any) -> HttpResponse:
        """The form with what was typed; `more` is what a preview shows."""
        text, moved = self._text()
        # A text that is no JSON stays based on what it was written over: see `_text`.
        stays = moved and text is None
        version = self.request.POST.get("version") if stays else self.thread.version
        large = self.head.state_bytes > state_text.SHOWN_BYTES
        context = {
            "thread": self.thread,
            "version": version,
            "checkpoint": self.head,
            "based_on": self.seen if stays else self.head,
            "fields": forms.state_fields(
                self.schema, self.values, self.request, problems, compare=True, draft=self.draft
            ),
            "by": self.state.by,
            "state": "" if large else (self.state.text if text is None else text),
            "state_too_large": large,
            "declared": declared(Edit, ["reason"], self.request.POST.dict(), problems),
            "withdrawn": gates.unsettled(self.thread.id),
            "errors": problems,
            **more,
        }
        return render(self.request, "threads/edit.html", context, status=status)

    def _text(self) -> tuple[str | None, bool]:
        """(the JSON of the form, whether the head moved since the form was made).

        Of a head that moved it is the newer state with what this person changed: sending it undoes
        nothing of what others wrote. None stands for a text that is no JSON and cannot be merged.
        """
        if self.seen.id == self.head.id:
            return self.state.text, False
        try:
            mine = state_text.changes_of(self.state.text, self.schema, self.shown)
        except fields.Unreadable:
            if self.state.by == BY_JSON:
                return None, True
            mine = {}
        return state_text.state_text(self.schema, self.values | mine), True

    def posted(self) -> HttpResponse:
        """Read the form, then show what would differ, or save; problems come back beside it."""
        changes, problems = self.state.changes(self.request, self.who, self.schema, self.shown)
        if problems:
            return self.render(problems, 422)
        act = self.request.POST.get("act", "")
        try:
            version = version_of(self.request)
            if not changes:
                raise errors.Invalid("$", "Change at least one value.")
            seen = digest_of(changes, str(self.seen.id))
            known = self.request.POST.get("seen", "")
            unseen = act == SAVE and self.state.by == BY_JSON and known != seen
            if act == PREVIEW or unseen:
                return self._preview(changes, version, seen=seen, again=unseen and known != "")
            edit_thread(self.who, self.thread.id, changes, self.reason, version)
        except (errors.Forbidden, errors.Missing, errors.NeedsSecondPerson):
            raise
        except errors.ActionError as error:
            problems = self._problems(error, changes)
            return self.render(problems, error.status)
        flash(self.request, "Saved as a new checkpoint. Resume or retry to continue from it.")
        return SeeOther(thread_url(self.thread.id))

    def _problems(self, error: errors.ActionError, changes: dict[str, Any]) -> dict[str, str]:
        problems = forms.problems_of(error, self.schema)
        if error.status == errors.Stale.status:
            mine = changes if self.state.by == BY_JSON else self.draft or {}
            problems = forms.overtaken(mine, self.shown, self.values) | problems
        return self.state.refused(problems, self.schema, changes)

    def _preview(self, changes: dict[str, Any], version: int | None, **more: Any) -> HttpResponse:
        """The form below what would differ; refused where the thread moved on meanwhile."""
        plan = preview_edit(self.who, self.thread.id, changes, version)
        shown = {
            "plan": plan,
            "old_state": self.values,
            "new_state": self.values | changes,
            "schema": self.schema,
            "stored": self.state.stored(self.request, changes),
            "preview": Ahead(**ahead_of(plan.expected)),
        }
        return self.render({}, 200, **shown, **more)
