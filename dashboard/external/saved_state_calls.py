"""States that agents save and load by name, without a lease of their own."""

from __future__ import annotations

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from checkpoints.limits import AGENT_MAX, NAME_MAX
from dashboard.documents.state_document import state_answer
from dashboard.documents.state_shape import State
from dashboard.errors import Invalid
from dashboard.external.answers import CheckpointKept, KeptCheckpoint
from dashboard.external.requests import SaveState
from dashboard.kit.api.base import answer, refusals
from dashboard.kit.api.parameters import whole
from dashboard.kit.shapes.requests import INDEX_MAX
from workers.external.bounds import BUCKET

from . import saved_states
from .leased_view import ExternalView

NAME = OpenApiParameter(
    "name",
    {"type": "string", "minLength": 1, "maxLength": NAME_MAX},
    required=True,
    description="What it was saved under.",
)
IN = OpenApiParameter(
    "bucket",
    {"type": "string", "maxLength": AGENT_MAX},
    description=f"`{BUCKET}` unless given. Threads of any agent are found by its name.",
)
NUMBER = whole("number", "An earlier checkpoint than the newest.", high=INDEX_MAX)


class SavedStates(ExternalView):
    """Saved states."""

    @extend_schema(
        operation_id="states_load",
        responses={200: State, **refusals(404, 422)},
        parameters=[NAME, IN, NUMBER],
        summary="Load a state that was saved under a name",
    )
    def get(self, request: Request) -> Response:
        """The newest one, or that of a number; `context.number` names it."""
        name = self.text("name")
        if not name:
            raise Invalid("name", "is required")
        row, point = saved_states.load_state(
            self.actor,
            name,
            bucket=self.text("bucket") or BUCKET,
            number=self.number(NUMBER, 0) if self.text("number") else None,
        )
        return answer(state_answer(row, point), ETag=f'"{row.version}"')

    @extend_schema(
        operation_id="states_save",
        request=SaveState,
        responses={201: CheckpointKept, **refusals(409, 412, 422)},
        summary="Save a state under a name",
        description="Each save is a checkpoint of the bucket's thread of this name; "
        "`checkpoint.number` counts them. 409 while somebody works on the thread, or once a person "
        "has paused or ended it.",
    )
    def post(self, request: Request) -> Response:
        """Save it in the transaction that takes and gives back the lease."""
        body = self.body(SaveState)
        saved = saved_states.save_state(
            self.actor, body.name, body.state, bucket=body.bucket, after=body.after
        )
        checkpoint = KeptCheckpoint.of(saved)
        return answer(CheckpointKept(checkpoint=checkpoint, thread=self.now(saved.thread)), 201)
