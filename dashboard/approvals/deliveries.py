"""Decisions that were made elsewhere: a signed delivery becomes a person's decision here, once.

Who signed is found by the secrets of the hook, who decided by the admin's mapping, what they may by
their roles of this moment: then it goes through `approval.decide` like every other decision. What
that answers is kept under the delivery's id in the same transaction, so the same id again gets the
same answer. What is turned away before that is kept nowhere, and may be sent again once it is
mended.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final
from uuid import UUID

import structlog
from django.conf import settings
from django.contrib.auth import get_user_model
from django.db import OperationalError, transaction
from psycopg.errors import LockNotAvailable
from pydantic import Field, ValidationError

from approvals.hooks import changes as hooks
from approvals.hooks import deliveries
from approvals.hooks import signature as hook_signature
from approvals.hooks.deliveries import Presented
from approvals.queries import ApprovalRow
from approvals.states import WHAT_NEXT
from checkpoints.encryption.digests import fits_digest, keyed_digest
from checkpoints.errors import InvalidValue
from checkpoints.state import deltas
from dashboard.errors import ActionError, Forbidden, Invalid, Malformed, Missing, StillWorking
from dashboard.identity.permissions import Actor, Grant, actor_of, require
from dashboard.kit.action import read
from dashboard.kit.api.base import refusal_of
from dashboard.kit.shapes.problems import of_action
from dashboard.kit.shapes.requests import Hash, RequestShape
from dashboard.kit.shapes.texts import Comment, Id, NotBlank, OneOf

from .decide import DECIDE, Decide, Word

TOLERANCE: Final = 300  # seconds, both ways, by the database's clock
NAMES: Final = ("webhook-id", "webhook-timestamp", "webhook-signature")
ID_MAX: Final = 255
BODY: Final = "delivery"
ID: Final = re.compile(r"^[!-~]+$")
TIME: Final = re.compile(r"^[0-9]{1,12}$")

log = structlog.get_logger("gatepost.hooks")


class Unsigned(ActionError):
    """Nothing says that this hook has sent it."""

    status, code, title = 401, "bad-signature", "The signature does not hold"


class OutOfTime(ActionError):
    """Raised if a delivery was signed too long ago, or in the future: it may be a replay."""

    status, code, title = 401, "out-of-time", "Not sent just now"


class IdReused(Invalid):
    """The id came before, with something else."""

    code, title = "key-reused", "The id belongs to another delivery"


class Carried(RequestShape):
    """A decision made elsewhere; `by` is the sender's word for the person who made it."""

    approval: Id
    verdict: Word = Field(description="approve, edit, respond or reject, as the request takes it")
    proposal_hash: Hash = Field(description="`standing_hash` of what the person saw.")
    comment: Comment = Field("", description="Needed to reject, and to ask the agent at a gate.")
    args: Any = Field(
        None, description="edit: all arguments again; respond to a question: the answer."
    )
    what_next: Annotated[str, OneOf(WHAT_NEXT)] = Field(
        "", description="reject: go_on, stop or roll_back."
    )
    by: Annotated[str, NotBlank(hooks.IDENTITY_MAX)] = Field(
        description="The sender's word for the person; an admin says whom it stands for.",
    )


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to the sender: status, JSON text, and whether it repeats an earlier answer."""

    status: int
    text: str
    replayed: bool = False


def deliver(hook_id: str, headers: Mapping[str, str], body: bytes) -> Answer:
    """Carry out one delivery, or give the answer that its id had; refusals are ActionErrors.

    `headers` are those of the request by any spelling; `body` is what was sent, byte by byte.
    """
    hook = None
    try:
        hook = _hook(hook_id)
        ident = _signed(hook, headers, body)
        return _once(hook, ident, body)
    except ActionError as error:
        if not error.retry_after:
            _log_refusal(hook, error, headers)
        raise


def _hook(hook_id: str) -> Presented:
    try:
        result = deliveries.presented(UUID(hook_id))
    except ValueError:
        result = None
    if result is None:
        raise Missing("There is no such hook; its address ends with ?hook= and the hook's id.")
    return result


def _signed(hook: Presented, headers: Mapping[str, str], body: bytes) -> str:
    """The delivery's id, once its signature and its time hold."""
    ident, timestamp, values = (headers.get(name, "") for name in NAMES)
    if not (
        0 < len(ident) <= ID_MAX and ID.fullmatch(ident) and TIME.fullmatch(timestamp) and values
    ):
        raise Malformed(
            f"A delivery carries webhook-id (1 to {ID_MAX} printable ASCII characters), "
            "webhook-timestamp (whole seconds) and webhook-signature.",
            path=next((n for n in NAMES if not headers.get(n)), NAMES[0]),
        )
    if not _is_text(body):  # JSON is, and nothing else can be signed by Standard Webhooks
        raise Malformed("The body is not UTF-8.", path="$")
    fits = hook_signature.holds(
        values, hook.secrets, ident=ident, timestamp=int(timestamp), body=body
    )
    if not fits:
        raise Unsigned("The signature fits none of the hook's secrets.", path=NAMES[2])
    if abs(hook.now.timestamp() - int(timestamp)) > TOLERANCE:
        raise OutOfTime(
            f"The delivery was signed more than {TOLERANCE // 60} minutes away from now "
            f"({hook.now:%Y-%m-%d %H:%M:%S} UTC here); sign it again with the time of sending.",
            path=NAMES[1],
        )
    return ident


def _is_text(body: bytes) -> bool:
    try:
        body.decode()
    except UnicodeDecodeError:
        return False
    return True


def _once(hook: Presented, ident: str, body: bytes) -> Answer:
    with transaction.atomic():
        try:
            former = deliveries.take(hook.id, ident)
        except OperationalError as error:
            if isinstance(error.__cause__, LockNotAvailable):
                raise StillWorking from error
            raise
        if former is not None:
            if not fits_digest(former.body_hash, BODY, body):
                raise IdReused(NAMES[0], "was used before with another body; take a new one")
            return Answer(former.status, former.answer, replayed=True)
        carried = _read(body)
        actor = _actor(hook, carried.by)
        status, payload = _decided(actor, carried)
        answer = Answer(status, json.dumps(payload, ensure_ascii=False))
        deliveries.keep(
            hook,
            ident,
            body_hash=keyed_digest(BODY, body),
            approval=carried.approval,
            actor=actor.id,
            status=answer.status,
            answer=answer.text,
        )
    log.info("delivery", hook=hook.name, webhook_id=ident, actor=actor.id, status=status)
    return answer


def _read(body: bytes) -> Carried:
    try:
        return Carried.model_validate(deltas.decode_request(body))
    except InvalidValue as error:
        raise Malformed(str(error), path=error.path) from error
    except ValidationError as error:
        raise refusal_of(error) from error


def _actor(hook: Presented, word: str) -> Actor:
    """The person behind the sender's word, with their roles of now; Forbidden for strangers."""
    mapped = hooks.mapped_user(hook.id, word)
    user_id = mapped[0] if mapped else None
    users = get_user_model()._default_manager
    user = None if user_id is None else users.filter(pk=user_id, is_active=True).first()
    if user is None:
        raise Forbidden(
            "The hook's word for this person stands for no active user here; an admin says whom "
            "it stands for.",
            path="$.by",
        )
    if mapped is not None and not mapped[1]:
        raise Forbidden(
            "The person has not confirmed that this word stands for them: they do it once, under "
            f"{settings.GATEPOST_BASE_URL.rstrip('/')}/access/.",
            path="$.by",
        )
    grant = Grant(
        prefix=hook.name,
        label=hook.name,
        workspace=hook.workspace,
        workspace_name=hook.workspace_name,
        scopes=frozenset({"decide"}),
        kind="hook",
    )
    actor = actor_of(user, grant)
    require(actor, "decide")
    return actor


def _decided(actor: Actor, carried: Carried) -> tuple[int, dict[str, Any]]:
    """(status, JSON) of the decision; what it refuses is an answer as well, and stands."""
    request = carried.model_dump(exclude={"approval", "by"}, exclude_unset=True)
    try:
        row = DECIDE.run(actor, read(Decide, request), carried.approval)
    except ActionError as error:
        if error.retry_after:
            raise
        return error.status, of_action(error)
    return 200, delivery_answer(row)


def delivery_answer(row: ApprovalRow) -> dict[str, Any]:
    """Describe a request to the sender of a delivery: its outcome, none of its arguments."""
    return {
        "approval": str(row.id),
        "thread": str(row.thread),
        "status": row.status,
        "outcome": row.outcome,
        "proposal_hash": row.standing_hash,
        "decided_by": row.decided_by,
        "decided_by_name": row.decided_by_name,
        "decided_at": None if row.decided_at is None else row.decided_at.isoformat(),
        "effective_at": None if row.effective_at is None else row.effective_at.isoformat(),
    }


def _log_refusal(hook: Presented | None, error: ActionError, headers: Mapping[str, str]) -> None:
    """Say in the log, and at most once a minute in the workspace's own, what was turned away."""
    log.warning(
        "delivery refused",
        hook=hook.name if hook else "",
        webhook_id=headers.get(NAMES[0], "")[:255],
        code=error.code,
        why=error.detail,
    )
    if hook is not None:
        deliveries.note_refused(hook, f"{error.title}: {error.detail}")
