"""Choices for a thread whose agent's code is not the one it stopped with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, Final
from uuid import UUID

from django.db import transaction
from pydantic import Field

from checkpoints import queries, store
from checkpoints.errors import StaleVersion
from checkpoints.views import AgentRow, ThreadRow
from dashboard.errors import ActionError, Conflict, Invalid, translated
from dashboard.identity.permissions import Actor, require
from dashboard.kit.second_person import guarded
from dashboard.kit.shapes.requests import RequestShape
from dashboard.kit.shapes.texts import Id, OneOf
from dashboard.threads.page.code_question import CHOICES, RIGHT, WORDS, open_choices
from dashboard.wire.hints import look_again

AT_ONCE: Final = 200


@dataclass(frozen=True, slots=True)
class Chosen:
    """The outcome of a choice for one thread; `goes_on` is that thread, or its fork."""

    thread: UUID
    goes_on: UUID | None = None
    error: ActionError | None = None


@guarded("fork", right="fork", when=lambda value: value["choice"] == "fork")
@translated()
def choose_code(
    actor: Actor, thread_id: UUID, choice: str, *, expected_version: int | None = None
) -> UUID:
    """Pin, accept, fork or unpin; the thread that continues: this one, or the fork."""
    if choice not in CHOICES:
        raise Invalid("$.choice", f"must be one of {', '.join(CHOICES)}")
    require(actor, RIGHT[choice])
    thread = queries.thread(thread_id, workspace=actor.workspace)
    if choice not in open_choices(thread):
        raise Conflict(_not_now(thread, choice), status=str(thread.status))
    payload: dict[str, Any] = {"actor": actor.id, "expected_version": expected_version}
    if choice == "pin":
        store.pin(thread_id, **payload)
    elif choice == "unpin":
        store.unpin(thread_id, **payload)
    elif choice == "accept":
        new = _asked_for(thread)
        store.accept(
            thread_id,
            former=thread.agent_version_id,
            version=new.id,
            fingerprint=new.fingerprint,
            queue=new.queue,
            **payload,
        )
    else:
        return _forked(actor, thread, _asked_for(thread), expected_version)
    return thread_id


def choose_code_many(actor: Actor, threads: Sequence[UUID], choice: str) -> list[Chosen]:
    """Choose for each thread by itself: what is refused for one stops no other."""
    if choice not in CHOICES:
        raise Invalid("$.choice", f"must be one of {', '.join(CHOICES)}")
    require(actor, RIGHT[choice])
    many = list(dict.fromkeys(threads))
    if not 1 <= len(many) <= AT_ONCE:
        raise Invalid("$.threads", f"are {len(many):,}; 1 to {AT_ONCE} are chosen for together")
    results = []
    for thread in many:
        try:
            results.append(Chosen(thread, choose_code(actor, thread, choice)))
        except ActionError as error:
            results.append(Chosen(thread, error=error))
    return results


def _forked(actor: Actor, thread: ThreadRow, new: AgentRow, expected_version: int | None) -> UUID:
    if expected_version is not None and expected_version != thread.version:
        raise StaleVersion(version=thread.version, status=str(thread.status))
    new_thread = store.fork(
        thread.id,
        checkpoint=thread.head,
        changes={},
        actor=actor.id,
        effects="ask",
        reason=f"Continues with the code {new.fingerprint[:12]}",
        code=new.id,
    )
    transaction.on_commit(partial(look_again, thread.id, actor.workspace))
    return new_thread


def _asked_for(thread: ThreadRow) -> AgentRow:
    """The very code that the person was shown."""
    return queries.agent_version(UUID(str(thread.waiting_on["version"])))


def _not_now(thread: ThreadRow, choice: str) -> str:
    possible = ", ".join(open_choices(thread))
    can = f"possible is: {possible}" if possible else "its code is not in question"
    return f"{WORDS[choice][0]}: not possible now; {can}."


class ChooseCode(RequestShape):
    """A choice for a thread whose agent's code changed."""

    choice: Annotated[str, OneOf(CHOICES)]


class ChooseCodeMany(RequestShape):
    """The same choice for several threads, each separately."""

    choice: Annotated[str, OneOf(CHOICES)]
    threads: Annotated[list[Id], Field(min_length=1, max_length=AT_ONCE)]
