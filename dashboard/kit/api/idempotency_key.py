"""`Idempotency-Key`: the same POST sent again, or twenty times in parallel, is done once.

Every POST of a MemberView comes here before it reaches its view, which knows nothing of it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from django.conf import settings
from django.db import transaction
from django.http import QueryDict
from drf_spectacular.utils import OpenApiParameter
from rest_framework.request import Request
from rest_framework.response import Response

from checkpoints.state import deltas
from dashboard.errors import ActionError, Malformed
from dashboard.identity.permissions import Actor
from dashboard.kit.api import idempotency

from .idempotency import Answer, Call

NAME: Final = "Idempotency-Key"
REPLAYED: Final = "Idempotency-Replayed"
KEPT_HEADERS: Final = ("Location", "ETag")
KEY_MAX: Final = 255
_KEY: Final = re.compile(r"^[!-~]([ -~]*[!-~])?$")

PARAMETER = OpenApiParameter(
    NAME,
    {"type": "string", "minLength": 1, "maxLength": KEY_MAX, "pattern": _KEY.pattern},
    OpenApiParameter.HEADER,
    description=(
        "A name of your choice for this change, such as a UUID. Sent again with the same body it "
        f"changes nothing and gives the first answer, marked `{REPLAYED}: true`, for at least "
        f"{settings.GATEPOST_IDEMPOTENCY_HOURS:g} hours; with another body or address it is "
        "refused (422). A refused call leaves it free."
    ),
)


def call_of(request: Request, actor: Actor) -> Call | None:
    """Read the call and its key; None if the request names no key. Raises Malformed."""
    key = request.headers.get(NAME)
    if key is None:
        return None
    if len(key) > KEY_MAX or not _KEY.fullmatch(key):
        raise Malformed(f"{NAME} takes 1 to {KEY_MAX} printable ASCII characters.", path=NAME)
    data = request.data
    if isinstance(data, QueryDict):
        data = data.dict()
    return Call(
        workspace=actor.workspace,
        user_id=actor.user_id,
        key=key,
        call=f"{request.method} {request.path}",
        body=deltas.canonical(data),
    )


def once(call: Call, act: Callable[[], Response], before_replay: Callable[[], None]) -> Response:
    """The answer of `act`, or the one that the same call had before, after `before_replay`.

    Key, change and answer are one transaction: an exception of `act` takes all of them back and
    leaves the key free. Signals and doorbells go out after its commit.
    """
    try:
        return _once(call, act, before_replay)
    except ActionError as error:
        # A refusal that has to be on record; it went with the transaction.
        if error.afterwards is not None:
            error.afterwards()
        raise


def _once(call: Call, act: Callable[[], Response], before_replay: Callable[[], None]) -> Response:
    with transaction.atomic():
        result = idempotency.take(call)
        if result is None:
            response = act()
            headers = {name: response[name] for name in KEPT_HEADERS if name in response}
            idempotency.keep(call, Answer(response.status_code, headers, response.data))
            # Last of all, after doorbells and hints; it may not fail what is done.
            transaction.on_commit(idempotency.sweep_in_turn, robust=True)
            return response
        before_replay()
    return Response(result.data, result.status, headers={**result.headers, REPLAYED: "true"})
