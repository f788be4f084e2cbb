"""The calls that read things beside the actions on them: a list, or one of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from dashboard.documents.answer_json import Answer
from dashboard.kit.api.base import MemberView, answer, refusals
from dashboard.kit.api.parameters import flag


def reading[Shown: Answer](
    operation_id: str,
    answers: type[Shown],
    read: Callable[..., Shown],
    *,
    summary: str,
    description: str = "",
    refused: tuple[int, ...] = (),
    flags: Mapping[str, str] | None = None,
) -> type[MemberView]:
    """The view whose GET answers `read(actor, *ids)`; `call` adds the POST of an action to it.

    `flags` are parameters that `read` takes as well, with their descriptions.
    """
    texts = flags or {}

    @extend_schema(
        operation_id=operation_id,
        responses={200: answers, **refusals(*refused)},
        parameters=[flag(name, text) for name, text in texts.items()],
        summary=summary,
        description=description,
    )
    def get(self: MemberView, request: Request, **target: Any) -> Response:
        chosen = {name: self.flag(name) for name in texts}
        return answer(read(self.actor, *target.values(), **chosen))

    return type(operation_id, (MemberView,), {"get": get, "__doc__": description})
