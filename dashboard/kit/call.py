"""The call of an action in the API, with its description in the OpenAPI document."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from dashboard.kit.api.base import PREVIEW, MemberView, answer, refusals
from dashboard.kit.api.parameters import IF_MATCH
from dashboard.kit.shapes.previews import SecondAdminAsked, SecondPersonAsked

from .action import Action


def call(action: Action[Any, Any], reads: type[MemberView] = MemberView) -> Callable[..., Any]:
    """The view of an address whose POST is this action; `reads` has what a GET there answers."""
    answers: dict[Any, Any] = {action.status: action.answers}
    if action.preview:
        answers[200] = action.preview.answers
    if action.buffered:
        answers[202] = action.answers
    if action.operation:
        answers[202] = SecondPersonAsked
    if action.second_admin:
        answers[202] = SecondAdminAsked
    refused = [404, 409, 422] if action.target else [422]
    refused += [412] if action.versioned else [*action.refused]

    @extend_schema(
        operation_id=action.operation_id,
        request=action.takes,
        parameters=[IF_MATCH] * action.versioned + [PREVIEW] * bool(action.preview),
        responses={**answers, **refusals(*refused)},
        summary=action.summary,
        description=action.description,
    )
    def post(self: MemberView, request: Request, **target: UUID) -> Response:
        wanted = self.body(action.takes)
        version = self.expected_version() if action.versioned else None
        if action.preview and self.flag("preview"):
            plan = action.plan(self.actor, wanted, *target.values(), expected_version=version)
            return answer(plan)
        result = action.run(self.actor, wanted, *target.values(), expected_version=version)
        shape: Any = action.answer(self.actor, result, *target.values())
        headers = {"ETag": f'"{shape.version}"'} if action.versioned else {}
        buffered = action.buffered is not None and action.buffered(result)
        return answer(shape, 202 if buffered else action.status, **headers)

    more: dict[str, Any] = {
        "changes": action.right,
        "previews": action.preview is not None,
        "post": post,
    }
    if action.secret or not action.keyed:
        more["keyed"] = False
    more["__doc__"] = reads.__doc__
    view: Any = type(action.operation_id, (reads,), more)
    made: Callable[..., Any] = view.as_view()
    vars(made)["action"] = action
    return made
