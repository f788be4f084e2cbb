"""The past of a thread: state, checkpoints, events, activities, differences."""

from __future__ import annotations

import re
from uuid import UUID

from django.http import StreamingHttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response

from checkpoints import queries
from checkpoints.views import Page, ThreadRow
from dashboard.documents.buffered import Buffered
from dashboard.documents.state_document import state_answer
from dashboard.documents.state_reads import read
from dashboard.documents.state_shape import State
from dashboard.errors import Invalid
from dashboard.html.comparison.compare import compare
from dashboard.html.comparison.endings import ending_of
from dashboard.identity.senders import login_headers
from dashboard.kit.api.base import MemberView, answer, refusals
from dashboard.kit.api.event_stream import MEDIA_TYPE as MEDIA_TYPE_OF_STREAM
from dashboard.kit.api.event_stream import EventStreamRenderer, Followed, event_stream
from dashboard.kit.api.parameters import choice, flag, ident, rows, whole, words
from dashboard.kit.api.renderers import YAMLRenderer, ZipRenderer
from dashboard.kit.shapes.django_request import django_request
from dashboard.threads.answers import diff_answer, events_answer
from dashboard.threads.capsule import export
from dashboard.threads.capsules.downloads import MEDIA_TYPE, download
from dashboard.threads.page.anatomy import anatomy_of
from dashboard.threads.page.anatomy_shape import Anatomy
from dashboard.threads.page.memory import state_in_memory
from dashboard.threads.reveal import Reveal, RevealedChannel, reveal, revealed_answer
from dashboard.threads.thread_list import LIMIT
from dashboard.threads.thread_shapes import (
    ActivityList,
    Checkpoint,
    CheckpointList,
    Diff,
    EventList,
)
from gatepost_command import COMMAND
from workers.external.settled import recorded

NUMBER_MAX = 2**31 - 1
NUMBER = whole("number", "Only the checkpoint of this number, with its files.", high=NUMBER_MAX)
CHILDREN = flag("children", "With all threads that it started or handed over to, down the tree.")
MEMORIES = flag(
    "memories",
    "With the texts of memory that these threads refer to, as far as you may see them; of those "
    "that are deleted the reason.",
)
COMMAS = r"^[^,]+(?:,[^,]+)*$"
KINDS = re.compile(COMMAS)
BEFORE = whole("cursor", "`next_cursor` of the page before.", high=NUMBER_MAX)
AFTER = whole("after", "A sequence number; 0 is the beginning.")
LAST_SEEN = whole(
    "Last-Event-ID",
    "Of a stream: the last sequence number that was received.",
    location="header",
)
EVENTS, ACTIVITIES = rows(500), rows(1_000)


class Past(MemberView):
    """Shared base of the views that read a thread's past."""

    def thread(self, thread_id: UUID) -> ThreadRow:
        """The thread, or 404 for unknown ids and those of other workspaces alike."""
        return queries.thread(thread_id, workspace=self.actor.workspace)

    def ident(self, name: str, default: UUID | None = None) -> UUID:
        """An id among the query parameters."""
        raw = self.text(name)
        if not raw and default is not None:
            return default
        if not raw:
            raise Invalid(name, "is required")
        return UUID(raw)


class ThreadState(Past):
    """The state."""

    renderer_classes = (JSONRenderer, YAMLRenderer)

    @extend_schema(
        responses={
            (200, "application/json"): State,
            (200, "application/yaml"): State,
            **refusals(404, 422),
        },
        parameters=[
            ident("checkpoint", "Another one than the head."),
            choice("format", ("json", "yaml"), "json unless given."),
        ],
        summary="The whole state at a checkpoint",
    )
    def get(self, request: Request, thread_id: UUID) -> Response:
        """At the head, or at any checkpoint of the thread's own."""
        row = self.thread(thread_id)
        wanted = self.ident("checkpoint", row.head)
        if row.is_ephemeral and wanted == row.head:
            return answer(state_in_memory(row), ETag=f'"{row.version}"')
        point = queries.checkpoint(thread_id, wanted)
        shown = state_answer(row, point)
        if wanted == row.head and (buffered := Buffered.of(row)):
            shown.context["buffered"] = buffered.model_dump()
        return answer(shown, ETag=f'"{row.version}"')


class RevealThread(Past):
    """An encrypted channel."""

    changes = "reveal"
    keyed = False  # a kept answer would be the value, in plain

    @extend_schema(
        operation_id="threads_reveal",
        request=Reveal,
        responses={200: RevealedChannel, **refusals(404, 409, 422)},
        summary="Read the value of an encrypted channel",
        description="For roles that the agent names for the channel. Each reading is recorded in "
        "the log of the workspace (`channel.revealed`). Never cached. 409: its key is not here.",
    )
    def post(self, request: Request, thread_id: UUID) -> Response:
        """At the head, or at any checkpoint of the thread's own."""
        body = self.body(Reveal)
        revealed = reveal(self.actor, thread_id, body.channel, body.checkpoint)
        return answer(revealed_answer(revealed), Cache_Control="no-store")


class ThreadAnatomy(Past):
    """The anatomy."""

    @extend_schema(
        responses={200: Anatomy, **refusals(404, 422)},
        parameters=[ident("checkpoint", "Another one than the head.")],
        summary="What a checkpoint holds beside its state",
        description="Goal, finished and remaining steps, reasoning; results, cursors and files of "
        "tools; model, temperature, prompts; agent version, packages, Python and worker.",
    )
    def get(self, request: Request, thread_id: UUID) -> Response:
        """At the head, or at any checkpoint of the thread's own."""
        row = self.thread(thread_id)
        point = queries.checkpoint(thread_id, self.ident("checkpoint", row.head))
        version = queries.agent_version(point.agent_version_id)
        shown = read(point.thread, point.id, version)
        return answer(anatomy_of(row, point, shown.state))


class ThreadCheckpoints(Past):
    """The checkpoints."""

    @extend_schema(
        responses={200: CheckpointList, **refusals(404, 422)},
        parameters=[
            BEFORE,
            LIMIT,
            words("show", "Channels, by commas: what each checkpoint set them to.", pattern=COMMAS),
            ident("id", "Only this one."),
        ],
        summary="A thread's own checkpoints, newest first",
    )
    def get(self, request: Request, thread_id: UUID) -> Response:
        """Abandoned ones are marked."""
        self.thread(thread_id)
        named = self.text("show")
        if named and not KINDS.fullmatch(named):
            raise Invalid("show", "names channels, by commas")
        channels = named.split(",") if named else []
        if raw := self.text("id"):
            point = queries.checkpoint(thread_id, UUID(raw))
            page = Page((point,))
        else:
            page = queries.checkpoints(
                thread_id,
                limit=self.limit(LIMIT),
                before=self.number(BEFORE, NUMBER_MAX),
            )
        shown = queries.values_set(thread_id, [row.id for row in page.rows], channels)
        results = [Checkpoint.of(row, shown.get(row.id, {})) for row in page.rows]
        return answer(CheckpointList(results=results, next_cursor=page.next_cursor))


class ThreadEvents(Past):
    """The events."""

    renderer_classes = (JSONRenderer, EventStreamRenderer)

    @extend_schema(
        responses={
            (200, "application/json"): EventList,
            (200, MEDIA_TYPE_OF_STREAM): OpenApiTypes.STR,
            **refusals(404, 422),
        },
        parameters=[
            LAST_SEEN,
            choice("format", ("json", "sse"), "As Accept does: json unless given."),
            AFTER,
            words("kind", "Kinds or nouns, by commas.", pattern=COMMAS),
            EVENTS,
        ],
        summary="Events after a sequence number, oldest first, without gaps",
        description="With `Accept: text/event-stream` they are streamed as server-sent events, "
        "each when it is committed: `id` is the sequence number, `event` the kind, `data` the "
        "event as JSON. A client that reconnects with `Last-Event-ID` misses none.",
    )
    def get(self, request: Request, thread_id: UUID) -> Response | StreamingHttpResponse:
        """`next_cursor` is empty when there is no more yet; continue from `last_seq`."""
        row = self.thread(thread_id)
        after, limit = self.number(AFTER, 0), self.limit(EVENTS)
        seen = self.header_number(LAST_SEEN.name)
        named = self.text("kind")
        if named and not KINDS.fullmatch(named):
            raise Invalid("kind", "names kinds or nouns, by commas")
        kinds = named.split(",") if named else []
        if request.accepted_renderer.format == EventStreamRenderer.format:
            followed = Followed(row.id, self.actor.workspace, kinds, login_headers(request))
            return event_stream(followed, max(after, seen))
        rows = queries.events_after(thread_id, after, limit=limit + 1, kinds=kinds)
        return answer(events_answer(rows, after=after, limit=limit))


class ThreadActivities(Past):
    """The activities."""

    @extend_schema(
        responses={200: ActivityList, **refusals(404, 422)},
        parameters=[
            ACTIVITIES,
            ident("checkpoint", "Only those of the step after this one: the newest by position."),
        ],
        summary="What happened once: calls, effects, finished nodes; newest first",
    )
    def get(self, request: Request, thread_id: UUID) -> Response:
        """Also those still at work, with their progress."""
        self.thread(thread_id)
        if raw := self.text("checkpoint"):
            point = queries.checkpoint(thread_id, UUID(raw))
            rows = recorded(thread_id, point.branch, point.step + 1)
        else:
            rows = queries.activities(thread_id, limit=self.limit(ACTIVITIES))
        return answer(ActivityList(results=rows))


class ThreadDiff(Past):
    """The differences."""

    @extend_schema(
        responses={200: Diff, **refusals(404, 422)},
        parameters=[
            ident("from", "A checkpoint.", required=True),
            ident("to", "A checkpoint; else the head."),
            ident("to_thread", "The thread of `to`, if another."),
        ],
        summary="What differs between two checkpoints, and where their ways part",
    )
    def get(self, request: Request, thread_id: UUID) -> Response:
        """JSON Patch of the states; a fork and its base are compared by `to_thread`."""
        row = self.thread(thread_id)
        other = self.thread(self.ident("to_thread", thread_id))
        old = queries.checkpoint(row.id, self.ident("from"))
        new = queries.checkpoint(other.id, self.ident("to", other.head))
        return answer(diff_answer(compare(old, new), ending_of(row, old, other, new)))


class ThreadCapsule(Past):
    """The capsule."""

    renderer_classes = (ZipRenderer, JSONRenderer)
    http_method_names = ("get", "options")  # HEAD would be logged as taken away

    @extend_schema(
        operation_id="threads_capsule",
        responses={(200, MEDIA_TYPE): OpenApiTypes.BINARY, **refusals(404, 409, 422)},
        parameters=[
            OpenApiParameter("format", str, exclude=True),
            NUMBER,
            CHILDREN,
            MEMORIES,
        ],
        summary="A capsule: the thread with its whole past as one zip file",
        description=f"What `{COMMAND} import` reads elsewhere. It is logged in the workspace who "
        "took it. Roles: operator, auditor.",
    )
    def get(self, request: Request, thread_id: UUID) -> StreamingHttpResponse:
        """Rows as of one moment; bases of forks and files come with it, children by choice."""
        number = self.number(NUMBER, -1)
        point, children = None if number < 0 else number, self.flag("children")
        memories = self.flag("memories")
        capsule = export(self.actor, thread_id, point, children=children, memories=memories)
        return download(django_request(request), capsule)
