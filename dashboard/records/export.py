"""Answers taken away as a file: for the page, the API and the command."""

from __future__ import annotations

from collections.abc import Mapping

from django.http import StreamingHttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from uuid_utils.compat import uuid7

from checkpoints import store
from checkpoints.errors import InvalidValue
from checkpoints.states import WorkspaceEventKind
from dashboard.board.saved_views.questions import named, question_of
from dashboard.errors import Invalid, translated
from dashboard.identity.permissions import Actor, require
from dashboard.kit.api.base import refusals
from dashboard.kit.api.parameters import choice, rows, words
from dashboard.kit.api.renderers import ZipRenderer
from dashboard.kit.shapes.django_request import django_request
from dashboard.records.exports.package import ROWS_DEFAULT, ROWS_MAX, Export, Exported
from dashboard.records.exports.rows import FORMS
from dashboard.threads.capsules.downloads import MEDIA_TYPE, download

from .search import PARAMETERS, AskingView

# It names the transactions that were open when the first part began, as many as there are.
CURSOR_MAX = 4_000
ROWS = rows(ROWS_MAX)


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


class ExportRecords(AskingView):
    """The same events as a file."""

    renderer_classes = (ZipRenderer, JSONRenderer)
    http_method_names = ("get", "options")  # HEAD would be logged as taken away

    @extend_schema(
        operation_id="records_export",
        responses={(200, MEDIA_TYPE): OpenApiTypes.BINARY, **refusals(422)},
        parameters=[
            OpenApiParameter("format", str, exclude=True),
            *PARAMETERS,
            choice("form", tuple(FORMS), "The form of the rows: jsonl unless given."),
            words("cursor", "`next` in export.json of the part before.", longest=CURSOR_MAX),
            ROWS,
        ],
        summary="Export events, with the chains that prove them",
        description="A zip file of at most `limit` events, "
        f"{ROWS_DEFAULT:,} unless given, oldest first, sent while it is read. `next` in its "
        "export.json leads to the next part; all parts are of the moment when the first began. "
        "Each is verified alone, offline, by `tools/verify_export.py`. The log of the workspace "
        "has who began to take it, and before its end the hash of its MANIFEST. A file without an "
        "end was cut off: take that part again. Roles: operator, auditor.",
    )
    def get(self, request: Request) -> StreamingHttpResponse:
        """On record first, then read while it is sent."""
        export = export_records(
            self.actor,
            self.filters(),
            form=self.text("form") or "jsonl",
            cursor=self.text("cursor"),
            limit=self.number(ROWS, ROWS_DEFAULT),
        )
        return download(django_request(request), export)
