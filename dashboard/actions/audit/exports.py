"""Answers taken away: one function for the page, the API and the command."""

from __future__ import annotations

from collections.abc import Mapping

from checkpoints import store
from checkpoints.states import WorkspaceEventKind
from dashboard.documents.exports.package import ROWS_DEFAULT, ROWS_MAX, Export, export_of
from dashboard.documents.exports.rows import FORMS
from dashboard.errors import Invalid, translated
from dashboard.identity.permissions import Actor, require
from dashboard.saved_views.questions import named, question_of


@translated()
def export_records(
    actor: Actor,
    filters: Mapping[str, str],
    *,
    form: str = "jsonl",
    cursor: str = "",
    limit: int = ROWS_DEFAULT,
) -> Export:
    """The events that fit every filter, oldest first, with their chains; logged in the workspace.

    `cursor` is the `next_cursor` of the part before. What the log says binds the file: the hash of
    its MANIFEST.
    """
    require(actor, "export")
    if form not in FORMS:
        raise Invalid("form", f"knows only {', '.join(FORMS)}")
    if not 1 <= limit <= ROWS_MAX:
        raise Invalid("limit", f"must be a whole number from 1 to {ROWS_MAX:,}")
    filters = named(filters)
    export = export_of(
        question_of(actor.workspace, filters),
        filters,
        form=form,
        by=actor.id,
        cursor=cursor,
        limit=limit,
    )
    store.log_export(
        actor.workspace,
        data={
            "filters": filters,
            "form": form,
            "events": export.rows,
            "logs": export.logs,
            "after": cursor,
            "next": export.next_cursor,
            "manifest": export.manifest_sha,
        },
        actor=actor.id,
        kind=WorkspaceEventKind.RECORD_EXPORTED,
    )
    return export
