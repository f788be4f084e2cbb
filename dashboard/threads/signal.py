"""Send a signal: news from outside that a wait of the thread takes."""

from __future__ import annotations

from typing import Annotated, Any
from uuid import UUID

from drf_spectacular.utils import extend_schema
from pydantic import Field
from rest_framework.request import Request
from rest_framework.response import Response

from checkpoints import queries, store
from checkpoints.limits import AGENT_MAX, NAME_MAX
from checkpoints.queries.event_log import NOT_TAKEN
from checkpoints.queries.why import awaited_signals
from checkpoints.states import EventKind
from dashboard.errors import Conflict, Missing
from dashboard.fields.validation import MESSAGE_BYTES, check_sent
from dashboard.identity.permissions import Actor, require
from dashboard.kit.action import Action
from dashboard.kit.api.base import MemberView, answer, refusals
from dashboard.kit.shapes.previews import SecondPersonAsked
from dashboard.kit.shapes.requests import RequestShape
from dashboard.kit.shapes.texts import NotBlank
from dashboard.threads.target import thread_for
from dashboard.threads.thread_shapes import ThreadDetail

from .target import THREAD

SignalName = Annotated[str, NotBlank(NAME_MAX)]


class SendSignal(RequestShape):
    """News from outside for the wait of this name."""

    name: SignalName = Field(description="Name of the signal, as the agent's wait has it.")
    value: Any = Field(
        default=None,
        description=f"What the wait answers: any JSON, at most {MESSAGE_BYTES:,} bytes.",
    )


class SendSignalByName(SendSignal):
    """The same, to the thread that has this name."""

    agent: Annotated[str, NotBlank(AGENT_MAX)] = Field(description="Agent of the thread.")
    thread: Annotated[str, NotBlank(NAME_MAX)] = Field(
        description="Name that the caller gave the thread when it started it."
    )


def send_signal(
    actor: Actor, wanted: SendSignal, thread_id: UUID, *, expected_version: int | None = None
) -> int:
    """Keep a signal for a thread, and wake the wait that it is for; the number of its event."""
    thread = thread_for(actor, "signal", thread_id)
    awaited = awaited_signals(thread)
    schema = awaited.get(wanted.name) or {}
    check_sent("value", wanted.value, schema, workspace=actor.workspace)
    if wanted.name not in awaited and len(queries.waiting_signals(thread_id)) >= NOT_TAKEN:
        raise Conflict(
            f"{NOT_TAKEN} signals wait to be taken; this thread keeps no more.",
            status=str(thread.status),
        )
    return store.send_signal(
        thread_id,
        name=wanted.name,
        value=wanted.value,
        actor=actor.id,
        expected_version=expected_version,
    )


def is_service(actor: Actor) -> bool:
    """True for a token that can send signals and nothing else: its signals are not sent by hand."""
    return actor.grant is not None and actor.grant.scopes <= {"read", "signal"}


SIGNAL = Action(
    name="thread.signal",
    right="signal",
    target=THREAD,
    versioned=True,
    operation="signal",
    exempt=is_service,
    takes=SendSignal,
    checked_apart=("value",),
    answers=ThreadDetail,
    perform=send_signal,
    events=(EventKind.SIGNAL_RECEIVED,),
    summary="Send a signal, which one wait of the thread takes",
    description="200: it is kept and stands in `signals` until the wait of this name takes it, now "
    "or when it begins. Sent again with the same Idempotency-Key it is the same signal. 422: the "
    "wait of now takes no such value. 202: a policy lets somebody else decide first; a token with "
    "the scope `signal` alone is asked nothing.",
    help="send a signal, which wakes the wait of this name",
    done=lambda wanted, _: f"Sent the signal {wanted.name}.",
    examples='threads signal order-17 payment.settled \'{"amount": "9.50"}\'',
)


class SignalByName(MemberView):
    """The thread that has a name."""

    changes = "signal"

    @extend_schema(
        operation_id="signals_send",
        request=SendSignalByName,
        responses={200: ThreadDetail, 202: SecondPersonAsked, **refusals(404, 409, 422)},
        summary="Send a signal to the thread of a name",
        description="As `/threads/{thread_id}/signals/`, for a service that knows the thread only "
        "by the name that it was started with.",
    )
    def post(self, request: Request) -> Response:
        """Send it as the action does."""
        wanted = self.body(SendSignalByName)
        require(self.actor, "signal")
        thread = queries.thread_named(
            wanted.thread, agent=wanted.agent, workspace=self.actor.workspace
        )
        if thread is None:
            raise Missing(f"{wanted.agent} has no thread of the name {wanted.thread!r}.")
        sent = SIGNAL.run(self.actor, SendSignal(name=wanted.name, value=wanted.value), thread.id)
        shape = SIGNAL.answer(self.actor, sent, thread.id)
        return answer(shape, ETag=f'"{shape.version}"')
