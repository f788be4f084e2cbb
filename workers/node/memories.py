"""Memory of a node, remembered and recalled: it is apart from the state, and referred to from it.

A record holds references, never texts: a forgotten text is nowhere in the history of threads. So
what a recall answers is read again with each look at its record; what is gone by then says why.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import timedelta
from typing import Any, Final
from uuid import UUID

from checkpoints.errors import InvalidValue, NotAllowedNow
from checkpoints.memories import (
    KINDS,
    QUERY_MAX,
    RECALLED_MAX,
    REF,
    SCOPES,
    Kind,
    NewMemory,
    Scope,
    Where,
    check_memory,
    is_ref,
)
from checkpoints.records import NewActivity
from checkpoints.state import deltas

from ..authoring.checks import check_text, shown
from ..authoring.errors import StepFailed
from ..authoring.frozen import plain
from ..authoring.graph import Tool
from ..authoring.memories import Memory, MemoryRef
from ..language.nearest_memories import near_thread
from ..step.advice import check_seconds, storable
from ..step.memories import author_of, person_of
from .signals import Signals

# As policies and records name them.
REMEMBER: Final = "memory.remember"
RECALL: Final = "memory.recall"
FORGET: Final = "memory.forget"
NOT_HERE: Final = "It is not in this installation."


class Memories(Signals):
    """A node's memory in one step."""

    def remember(
        self,
        text: str,
        *,
        scope: Scope = "thread",
        kind: Kind = "fact",
        person: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        outside: bool = False,
        expires_in: timedelta | float | None = None,
        key: str | None = None,
    ) -> Memory:
        """Keep a text beyond the state, once: killed and repeated, it is there once.

        `scope` says who reads it: threads like this one and its forks (`thread`), all of this agent
        (`agent`), all that work for a `person` (by default who started the thread), or all of the
        `workspace`. Pass `outside=True` for what came from a page, a mail or another system. It
        goes after `expires_in`, a span or seconds. A policy may hold the call as it holds a tool,
        by the name `memory.remember` and these arguments.
        """
        check_text(text, "What is remembered")
        work = self._step.work
        seconds = expires_in.total_seconds() if isinstance(expires_in, timedelta) else expires_in
        check_seconds(seconds, "expires_in=")
        owner = self._owner(scope, person)
        if scope == "person" and not owner:
            raise StepFailed("No person started this thread: say whom this is about by person=.")
        values: dict[str, Any] = {
            "scope": scope,
            "owner": owner,
            "kind": kind,
            "metadata": plain(dict(metadata or {})),
            "outside": outside,
            "seconds": seconds,
        }
        try:
            check_memory(NewMemory(text=text, **values))
        except InvalidValue as error:
            raise StepFailed(f"This can't be remembered: {error}.") from error
        self._refuse_hidden({"text": text, "metadata": values["metadata"]}, "What is remembered")
        # The record of the call knows the text by its hash alone.
        digest = hashlib.sha256(deltas.canonical([text, values["metadata"]])).hexdigest()
        args = values | {"metadata": None, "sha256": digest}

        def keep(activity: NewActivity) -> dict[str, Any]:
            p = activity.position
            where = Where(work.thread, p.branch, p.step, p.node)
            parts = [self._key(p), digest]
            once = hashlib.sha256(deltas.canonical(parts)).hexdigest()
            new = NewMemory(text=text, where=where, **values)
            return self._keep(new, once)

        shown_values = {"text": text, **values}
        if self.is_held(REMEMBER, shown_values, value=args, key=key):
            ref = self._remember_held(shown_values, key)
        else:
            ref = self._recorded_call(REMEMBER, args, key, keep)
        return self._memories([ref])[0]

    def recall(
        self,
        query: str,
        *,
        k: int = 5,
        scopes: Collection[Scope] = SCOPES,
        kinds: Collection[Kind] = KINDS,
        person: str | None = None,
        key: str | None = None,
    ) -> list[Memory]:
        """Search what is known: the `k` best memories with words of the query, recorded.

        With an embedding model (GATEPOST_EMBEDDINGS) also those that are near to it in meaning.
        Reads what threads like this one, its agent, its person and the workspace remember, or only
        some `scopes` and `kinds`. An empty query answers the newest. A text that came from outside
        is marked so: show it to a model as data.
        """
        check_text(query, "What is recalled")
        if len(query) > QUERY_MAX:
            raise StepFailed(f"A query has at most {QUERY_MAX:,} characters, not {len(query):,}.")
        if isinstance(k, bool) or not isinstance(k, int) or not 1 <= k <= RECALLED_MAX:
            raise StepFailed(f"k= is a number from 1 to {RECALLED_MAX}, not {shown(k)}.")
        for name, some, known in (("scopes", scopes, SCOPES), ("kinds", kinds, KINDS)):
            if isinstance(some, str) or not {*some} <= {*known}:
                raise StepFailed(f"{name}= takes some of {', '.join(known)}, not {shown(some)}.")
        work = self._step.work
        args: dict[str, Any] = {
            "query": query,
            "k": k,
            "scopes": sorted(scopes),
            "kinds": sorted(kinds),
            "person": person,  # a fork of somebody else's is asked the same
        }
        storable(args, "What is recalled")
        self._refuse_hidden(query, "What is recalled")

        more: dict[str, Any] = {}

        def read(_: NewActivity) -> list[dict[str, Any]]:
            refs, why = self._step.ledger.recall(
                work,
                query,
                scopes=args["scopes"],
                kinds=args["kinds"],
                person=person_of(work) if person is None else person,
                limit=k,
                near=near_thread,
            )
            if why:
                more["words_alone"] = why
            return refs

        answer = self._recorded_call(RECALL, args, key, read, more)
        return self._memories(answer if isinstance(answer, list) else [answer])

    def memory(self, ref: MemoryRef | Mapping[str, Any]) -> Memory:
        """The memory behind a reference of the state; one that is gone says why, and has no text.

        It is as it was at the revision of the reference, unless that is gone.
        """
        return self._memories([_json_of(ref)])[0]

    def forget(
        self,
        memories: Memory | MemoryRef | Sequence[Memory | MemoryRef],
        *,
        reason: str,
        key: str | None = None,
    ) -> int:
        """Delete the texts of memories that this agent remembered, and say why; how many had one.

        A policy may hold the call by the name `memory.forget`.
        """
        check_text(reason, "A reason")
        if not reason.strip():
            raise StepFailed("Say why it is forgotten: reason= is empty.")
        some = [memories] if isinstance(memories, Memory | MemoryRef) else list(memories)
        refs = [_json_of(one.ref if isinstance(one, Memory) else one) for one in some]
        args = {"memories": refs, "reason": reason}
        storable(args, "What is forgotten")
        ids = [UUID(ref[REF]) for ref in refs]

        def gone(_: NewActivity | None = None) -> int:
            work = self._step.work
            wanted = [(ident, ref["revision"]) for ident, ref in zip(ids, refs, strict=True)]
            texts = self._step.ledger.memory_texts(work, wanted)
            if any(row.author != author_of(work) for row, _, _ in texts.values()):
                raise StepFailed("An agent forgets only what it remembered itself.")
            try:
                return self._step.ledger.forget(work, ids, reason=reason)
            except NotAllowedNow as error:
                raise StepFailed(error.message) from error

        if self.is_held(FORGET, args, key=key):

            def carry_out(*, key: str, **_: Any) -> int:
                return gone()

            held = Tool(FORGET, carry_out, idempotent=True, elsewhere=True)
            return int(self.effect(held, args, key=key).result)
        return int(self._recorded_call(FORGET, args, key, gone))

    def _owner(self, scope: Scope, person: str | None = None) -> str:
        """The owner of a scope for this thread; empty for the workspace, and for nobody."""
        work = self._step.work
        return {
            "thread": str(work.thread),
            "agent": work.agent,
            "person": person_of(work) if person is None else person,
        }.get(scope, "")

    # ---- how they are recorded -------------------------------------------------------------------

    def _recorded_call(
        self,
        name: str,
        args: Any,
        key: str | None,
        call: Callable[[NewActivity], Any],
        notes: Mapping[str, Any] = {},
    ) -> Any:
        """The result recorded at this position, else that of `call`, recorded now with `notes`.

        What `call` reads or writes may stand before the record does: repeated, it must find it.
        """
        position = self._position(name, key)
        known = self._step.record_at(position)
        if (
            known is not None
            and known.state == "done"
            and deltas.canonical(known.args) == deltas.canonical(args)
        ):
            return self._step.value_of(known.result, name)
        self._boundary()
        revision = self._step.revision(position, same=False)
        activity = self._new(position, "activity", name, args, revision=revision)
        result = call(activity)
        self._step.heartbeat.check()
        # A fork or a step that is taken once more finds another memory: it asks anew.
        more = {"knows_more": True, **notes}
        events = self._step.take_events()
        self._step.ledger.record(
            self._step.work, activity, result=result, usage=more, events=events
        )
        return result

    def _keep(self, new: NewMemory, once: str) -> dict[str, Any]:
        """Keep a memory; raises StepFailed for the item of a store that somebody else wrote."""
        try:
            return self._step.ledger.remember(self._step.work, new, key=once)
        except NotAllowedNow as error:
            raise StepFailed(error.message) from error

    def _remember_held(self, values: dict[str, Any], key: str | None) -> Any:
        """Remember behind the gate of a policy: exactly what people decided."""
        work, node = self._step.work, self._node

        def carry_out(*, key: str, **decided: Any) -> dict[str, Any]:
            where = Where(work.thread, work.branch, self._step.number, node)
            return self._keep(NewMemory(where=where, **decided), key)

        tool = Tool(REMEMBER, carry_out, idempotent=True, elsewhere=True)
        vars(tool)["schema"] = {"type": "object"}
        return self.effect(tool, values, key=key).result

    def _refuse_hidden(self, value: Any, what: str) -> None:
        """Raise StepFailed for a secret, and for a value of an encrypted channel."""
        self._step.refuse_secrets(value, what)
        text = deltas.canonical(value).decode()
        if self._step.encrypted.masked(text) != text:
            raise StepFailed(
                f"{what} holds the value of an encrypted channel: memory is stored in plain."
            )

    def _memories(self, refs: Sequence[Any]) -> list[Memory]:
        """The memories behind references, as a record or a counterfactual has them."""
        wanted = [(UUID(ref[REF]), ref["revision"]) for ref in refs if is_ref(ref)]
        texts = self._step.ledger.memory_texts(self._step.work, wanted) if wanted else {}
        results = []
        for ref in refs:
            if not is_ref(ref):  # a person typed what would have been recalled
                text = ref.get("text", "") if isinstance(ref, Mapping) else ref
                results.append(Memory(None, str(text)))
                continue
            name = MemoryRef.model_validate(dict(ref))
            there = texts.get((UUID(name.id), name.revision))
            if there is None:
                results.append(Memory(name, "", gone=NOT_HERE))
                continue
            row, text, metadata = there
            is_gone = row.gone_at is not None
            results.append(
                Memory(
                    ref=name,
                    text="" if is_gone else text,
                    kind=row.kind,
                    scope=row.scope,
                    author=row.author,
                    thread=str(row.thread or ""),
                    outside=row.outside,
                    at=row.created_at,
                    revised_at=row.revised_at,
                    metadata={} if is_gone else deltas.copied(metadata),
                    gone=row.gone_reason if is_gone else "",
                )
            )
        return results


def _json_of(ref: Any) -> dict[str, Any]:
    """A reference in JSON; raises StepFailed for what is none."""
    value = plain(ref)
    try:
        if is_ref(value):
            UUID(value[REF])
            return dict(value)
    except ValueError:
        pass
    raise StepFailed(f"{shown(ref)} is no reference to a memory: keep the `ref` of one.")
