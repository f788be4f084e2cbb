"""Answers taken away: one function for the page, the API and the command."""

from __future__ import annotations

from collections.abc import Mapping

from uuid_utils.compat import uuid7

from checkpoints import store
from checkpoints.errors import InvalidValue
from checkpoints.states import WorkspaceEventKind
from dashboard.board.saved_views.questions import named, question_of
from dashboard.errors import Invalid, translated
from dashboard.identity.permissions import Actor, require
from dashboard.records.exports.package import ROWS_DEFAULT, ROWS_MAX, Export, Exported
from dashboard.records.exports.rows import FORMS


@translated()
def export_records(
    actor: Actor,
    filters: Mapping[str, str],
    *,
    form: str = "jsonl",
    cursor: str = "",
    limit: int = ROWS_DEFAULT,
) -> Export:
    """The events that fit every filter, oldest first, with their chains; on record already.

    `cursor` is the `next_cursor` of the part before. Two events of the workspace are about it: one
    is committed before this returns; the other, before the last bytes are given out, binds the file
    by the hash of its MANIFEST. The first without the second is a file that broke off.
    """
    require(actor, "export")
    if form not in FORMS:
        raise Invalid("form", f"knows only {', '.join(FORMS)}")
    if not 1 <= limit <= ROWS_MAX:
        raise Invalid("limit", f"must be a whole number from 1 to {ROWS_MAX:,}")
    filters, ident = named(filters), uuid7()

    def finished(exported: Exported) -> None:
        data = {
            "export": str(ident),
            "form": form,
            "events": exported.rows,
            "logs": exported.logs,
            "requests": exported.requests,
            "next": exported.next_cursor,
            "manifest": exported.manifest_sha,
        }
        kind = WorkspaceEventKind.RECORD_EXPORTED
        store.log_export(actor.workspace, data=data, actor=actor.id, kind=kind)

    try:
        export = Export(
            question_of(actor.workspace, filters),
            filters,
            ident=ident,
            form=form,
            by=actor.id,
            finished=finished,
            cursor=cursor,
            limit=limit,
        )
    except InvalidValue as error:
        # The name of a parameter, not a path within a body.
        raise Invalid(error.path, error.reason) from error
    begun = {"export": str(ident), "filters": filters, "form": form, "after": cursor}
    store.log_export(
        actor.workspace,
        data=begun | {"limit": limit},
        actor=actor.id,
        kind=WorkspaceEventKind.EXPORT_BEGUN,
    )
    return export
