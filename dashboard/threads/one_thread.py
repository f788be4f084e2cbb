"""One thread: as it is now, or once it has changed (`?wait=30`)."""

from __future__ import annotations

from uuid import UUID

from django.http import StreamingHttpResponse
from django.http.response import HttpResponseBase
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from checkpoints import queries
from dashboard.identity.permissions import Actor
from dashboard.kit.api.base import MemberView, refusals
from dashboard.kit.api.long_poll import WAIT_MAX, answer_after
from dashboard.kit.api.parameters import version, whole
from dashboard.threads.answers import thread_detail
from dashboard.threads.thread_list import detail
from dashboard.threads.thread_shapes import ThreadDetail

WAIT = whole(
    "wait",
    f"Answer once the version changes, at the latest after this many seconds (1 to {WAIT_MAX}); "
    "always 200: compare `version`.",
    high=WAIT_MAX,
)


class OneThread(MemberView):
    """One thread."""

    @extend_schema(
        responses={200: ThreadDetail, 304: None, **refusals(404, 422)},
        parameters=[
            version(
                "If-None-Match", "The version that is known already: 304 where it has not changed."
            ),
            WAIT,
        ],
        summary="A thread, what it waits for, and what may be done",
    )
    def get(self, request: Request, thread_id: UUID) -> HttpResponseBase:
        """ETag = version, for If-Match and If-None-Match."""
        seen, seconds = self.seen_version(), self.number(WAIT, 0)
        if seen is None and not seconds:
            return detail(self, thread_id)
        version = queries.thread(thread_id, workspace=self.actor.workspace).version
        if seconds and seen in (None, version):
            return thread_after_change(self.actor, thread_id, seen=version, seconds=seconds)
        if seen == version:
            return Response(status=304, headers={"ETag": f'"{version}"'})
        return detail(self, thread_id)


def thread_after_change(
    actor: Actor, thread_id: UUID, *, seen: int, seconds: float
) -> StreamingHttpResponse:
    """The thread as JSON, sent when its version is no longer `seen`, at the latest in `seconds`."""

    def is_due() -> bool:
        return queries.thread(thread_id, workspace=actor.workspace).version != seen

    def body() -> bytes:
        _, payload, _ = thread_detail(actor, thread_id)
        return payload.model_dump_json(by_alias=True).encode()

    return answer_after(thread_id, seconds=seconds, is_due=is_due, body=body)
