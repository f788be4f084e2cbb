"""Operations that need a second person: fork, rollback, edit, a signal, what is said of an effect.

A policy whose condition names `operation` can demand that somebody else agrees. The action then
opens a request instead of acting; the approval that settles it carries out exactly what was asked,
once, in one transaction with the decision. One that blocks refuses the operation, on record.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from functools import partial, wraps
from typing import Any, Concatenate, Final, Literal, cast
from uuid import UUID

from django.contrib.auth import get_user_model
from django.db import transaction
from django.urls import reverse
from uuid_utils.compat import uuid7

from approvals.gates import operations
from approvals.policies import queries as queries_policies
from approvals.policies.matches import Facts, Rule, rule_for
from approvals.queries import ApprovalRow
from checkpoints import queries, store
from checkpoints.errors import GatepostError
from checkpoints.views import ThreadRow
from dashboard.errors import (
    ActionError,
    BlockedByPolicy,
    Forbidden,
    NeedsSecondPerson,
    of,
    translated,
)
from dashboard.identity.permissions import Actor, may

Operation = Literal["fork", "roll_back", "edit", "retry", "skip", "signal"]
Action = Callable[Concatenate[Actor, UUID, ...], Any]

_ACTIONS: Final[dict[str, Action]] = {}
_OPERATIONS: Final[dict[str, Operation]] = {}
_approved: ContextVar[bool] = ContextVar("approved by a second person", default=False)
FORKS: Final = ("fork", "choose_code")
_TITLES: Final = {
    "fork": "Fork “{}”",
    "roll_back": "Roll back “{}”",
    "edit": "Edit the state of “{}”",
    "retry": "Retry “{}”",
    "skip": "Skip a node of “{}”",
    "signal": "Send a signal to “{}”",
    "choose_code": "Fork “{}” under other code",
    "settle": "State what happened to an effect of “{}”",
}


def guarded[**P, R](
    operation: Operation,
    *,
    right: str = "",
    when: Callable[[Mapping[str, Any]], bool] = lambda value: True,
) -> Callable[[Callable[Concatenate[Actor, UUID, P], R]], Callable[Concatenate[Actor, UUID, P], R]]:
    """An action that asks the policies first and raises NeedsSecondPerson where one demands it.

    Raises BlockedByPolicy where one refuses it. The request is opened only for what would be
    possible at this moment. `right` is the right that the action needs where it is not called like
    it; `when` says of its arguments whether it is the operation at all.
    """

    def decorate(
        action: Callable[Concatenate[Actor, UUID, P], R],
    ) -> Callable[Concatenate[Actor, UUID, P], R]:
        name = action.__name__
        signature = inspect.signature(action)

        @wraps(action)
        def guarded(actor: Actor, thread_id: UUID, /, *args: P.args, **more: P.kwargs) -> R:
            # Without the right the action itself refuses, and nobody learns of policies.
            if may(actor, right or name):
                bound = signature.bind(actor, thread_id, *args, **more)
                bound.apply_defaults()
                values = dict(list(bound.arguments.items())[2:])
                if when(values):
                    ask(actor, operation, name, thread_id, values)
            return action(actor, thread_id, *args, **more)

        put_on_list(name, operation, cast(Action, action))
        return guarded

    return decorate


def put_on_list(name: str, operation: Operation, action: Action) -> None:
    """Register what carries out an approved operation of this name; it asks nobody again."""
    _ACTIONS[name], _OPERATIONS[name] = action, operation


@translated()
def ask(
    actor: Actor, operation: Operation, name: str, thread_id: UUID, values: Mapping[str, Any]
) -> None:
    """Open a request and raise NeedsSecondPerson where a policy asks; else do nothing.

    For somebody who has the right to the operation. Where a policy blocks the request is its
    record, which nobody decides: raises BlockedByPolicy.
    """
    if _approved.get() or not queries_policies.any_about(actor.workspace, "operation"):
        return
    thread = queries.thread(thread_id, workspace=actor.workspace)
    arguments = _pinned(thread, _plain(_sealed(thread, values)))
    rule = _rule(thread, operation, name, arguments)
    if rule is None or rule.action == "allow":
        return
    hands = queries.hands_on(thread.id, thread.head) if rule.terms.four_eyes else ()
    ident: UUID = uuid7()

    def request() -> None:
        operations.request_operation(
            thread.id,
            ident=ident,
            workspace=actor.workspace,
            operation=name,
            args={
                "arguments": arguments,
                "asked_by": actor.person,
                "asked_by_name": actor.name,
                "thread": str(thread.id),
            },
            rule=rule,
            title=rule.title or _TITLES[name].format(thread.title),
            reason=str(values.get("reason") or ""),
            barred=(actor.person, *hands),
            actor=actor.id,
        )

    with transaction.atomic():
        # The locks of the rehearsal end with its rollback; to take the thread again after others
        # began to wait for it would be a deadlock.
        store.lock_thread(thread.id)
        _rehearse(actor, name, thread.id, values)
        request()
    page = reverse("approval", args=[ident])
    if rule.action == "block":
        raise BlockedByPolicy(rule.terms.rule, ident, page, request)
    raise NeedsSecondPerson(ident, page)


def is_held(thread: ThreadRow, operation: Operation, name: str, values: Mapping[str, Any]) -> bool:
    """True if a policy asks somebody else about this operation now, or refuses it."""
    if not queries_policies.any_about(thread.workspace, "operation"):
        return False
    rule = _rule(thread, operation, name, _pinned(thread, _plain(_sealed(thread, values))))
    return rule is not None and rule.action != "allow"


def _rule(
    thread: ThreadRow, operation: Operation, name: str, arguments: Mapping[str, Any]
) -> Rule | None:
    """The policies' decision on an operation now."""
    return rule_for(
        Facts(
            workspace=thread.workspace,
            thread=thread.id,
            agent=thread.agent,
            tool=name,
            args=arguments,
            cost=str(thread.cost),
            labels=dict(thread.labels),
            operation=operation,
            started_by=thread.started_by,
        )
    )


def carry_out(approval: ApprovalRow, actor: Actor) -> bool | None:
    """Do what an approved request of the kind "operation" asked for, as the person who asked, once.

    True: done; False: it was refused by what is there now, which is recorded and sent. None: there
    is nothing to do, or it was done before. `actor` is the person who approved last.
    """
    if approval.kind != operations.KIND or approval.status != "settled":
        return None
    if approval.outcome != "approve":
        return None
    try:
        with transaction.atomic():
            # As in `ask`: an attempt that fails is rolled back, and its outcome recorded after it.
            store.lock_thread(approval.thread)
            message, done = _attempt(approval)
            if not operations.note_carried_out(approval, done=done, text=message, actor=actor.id):
                raise _Before
    except _Before:
        return None
    return done


class _Before(Exception):
    """Rolls back the transaction: the operation was already carried out."""


def _attempt(approval: ApprovalRow) -> tuple[str, bool]:
    """(what there is to say, whether it was done)."""
    args = approval.args
    mark = _approved.set(True)
    try:
        with transaction.atomic():
            asker = _asker(str(args["asked_by"]), approval.workspace)
            thread = queries.thread(approval.thread, workspace=approval.workspace)
            operation = _OPERATIONS[approval.tool]
            rule = _rule(thread, operation, approval.tool, args["arguments"])
            if rule is not None and rule.action == "block":
                raise Forbidden(rule.terms.rule)
            result = _ACTIONS[approval.tool](asker, approval.thread, **_typed(args["arguments"]))
    except ActionError as error:
        return f"Not done: {error.detail}", False
    except GatepostError as error:
        return f"Not done: {of(error).detail}", False
    finally:
        _approved.reset(mark)
    return (f"Done: the new thread is {result}." if approval.tool in FORKS else "Done."), True


def _asker(person: str, workspace: UUID) -> Actor:
    """Read the person who asked, with their current roles; raises Forbidden."""
    users = get_user_model()._default_manager
    user = users.filter(pk=int(person.removeprefix("user:")), is_active=True).first()
    rows = [] if user is None else queries.memberships(user.pk)
    here = [row for row in rows if row[0] == workspace]
    if user is None or not here:
        raise Forbidden(
            "The person who asked for it can no longer sign in or is no longer a member."
        )
    name = str(user.get_full_name() or user.get_username())
    return Actor(user.pk, name, workspace, here[0][1], frozenset(role for _, _, role in here))


class _Rehearsed(Exception):
    """Rolls back a rehearsal that succeeded."""


def _rehearse(actor: Actor, name: str, thread_id: UUID, values: Mapping[str, Any]) -> None:
    """Rehearse the action and roll it back; raises what the action would raise now."""
    try:
        with transaction.atomic():
            _ACTIONS[name](actor, thread_id, **values)
            raise _Rehearsed
    except _Rehearsed:
        pass


def _pinned(thread: ThreadRow, arguments: dict[str, Any]) -> dict[str, Any]:
    """With the thread's version of now where the caller named none: what is approved is this."""
    if arguments.get("expected_version", 0) is None:
        return arguments | {"expected_version": thread.version}
    return arguments


def _sealed(thread: ThreadRow, values: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments as a request keeps them: new values of encrypted channels as ciphertext.

    Of the thread itself, also for a fork of it, which reads what its base reads.
    """
    if not values.get("changes"):
        return dict(values)
    point = queries.checkpoint(thread.id, values.get("checkpoint_id") or thread.head)
    channels = queries.agent_version(point.agent_version_id).channels
    cipher = partial(store.sealing_cipher, thread.id, workspace=thread.workspace)
    return {**values, "changes": store.sealed(channels, values["changes"], cipher)}


def _plain(value: Any) -> Any:
    if isinstance(value, UUID):
        return str(value)
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list | tuple) else value


def _typed(arguments: Mapping[str, Any]) -> dict[str, Any]:
    ids = {"checkpoint_id", "activity", "instead_of"}
    return {k: UUID(v) if k in ids and v is not None else v for k, v in arguments.items()}
