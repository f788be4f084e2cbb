"""Vectors of memories, made in a thread of the worker's main process, by one worker at a time.

Nothing of it starts where the settings name no embedding model.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Final

import structlog
from celery.signals import worker_ready, worker_shutdown

from checkpoints import queries, store
from checkpoints.postgres.background_loop import BackgroundLoop
from checkpoints.queries import WaitingText
from checkpoints.vectors import configured
from checkpoints.vectors.contents import bring
from checkpoints.vectors.stores import VectorsAway

from ..language.embeddings import NotEmbedded, embed, model_name
from . import canary, forks

log = structlog.get_logger("gatepost.memory")
DUTY: Final = "vectors"
# Longer than a call of the server may take.
DUTY_SECONDS: Final = 60.0
TEXTS_AT_ONCE, ROWS_AT_ONCE = 32, 500
PAUSE_SECONDS, LONGEST_PAUSE = 2.0, 60.0


class VectorMaker:
    """Makes what waits and fills the store outside; `turn` once, or `start` until `stop`.

    Each use of the database happens within a context that `inside` makes.
    """

    def __init__(
        self,
        *,
        owner: str,
        inside: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> None:
        self._owner, self._inside = owner, inside
        self._changed = self._failures = 0
        self._loop = BackgroundLoop(
            "vectors",
            self._turn,
            log=log,
            pause=self._pause,
            last=self._give_back,
            failed=self._count_failure,
        )

    def start(self) -> None:
        """Begin to turn."""
        self._loop.start()

    def stop(self) -> None:
        """Begin no other batch; what was not written is made again by another worker."""
        self._loop.stop()

    def turn(self) -> int:
        """Make one batch and send one, if it is this worker's duty; how many rows changed.

        Raises NotEmbedded and VectorsAway where a server does not answer.
        """
        with self._inside():
            # Asked first, since it is all that happens at rest: a duty is a commit.
            if not self._is_due():
                return 0
            if not store.claim_duty(DUTY, owner=self._owner, seconds=DUTY_SECONDS):
                return 0
        # First: what is gone leaves a store outside even while no vectors can be made.
        sent = self._send()
        return sent + self._make()

    def _is_due(self) -> bool:
        model, where = model_name(), configured.address()
        if queries.waiting_texts(model, limit=1):
            return True
        return bool(
            where and queries.unsent_vectors(configured.opened(where, model).name, model, limit=1)
        )

    def _make(self) -> int:
        model = model_name()
        with self._inside():
            texts = queries.waiting_texts(model, limit=TEXTS_AT_ONCE)
            length = queries.vector_bytes(model)
        if not texts:
            return 0
        try:
            vectors = embed([one.text for one in texts])
        except NotEmbedded as error:
            if not error.is_refused:
                raise
            return self._make_each(texts, model, length)
        _check_length(vectors[0], length)
        with self._inside():
            return store.save_vectors(list(zip(texts, vectors, strict=True)), model=model)

    def _make_each(self, texts: Sequence[WaitingText], model: str, length: int) -> int:
        """Make vectors one by one; a text that the server refuses is set aside for a while."""
        for text in texts:
            try:
                (vector,) = embed([text.text])
                _check_length(vector, length)
            except NotEmbedded as error:
                if not error.is_refused:
                    raise
                with self._inside():
                    store.set_text_aside(text.id, error=error)
                continue
            with self._inside():
                store.save_vectors([(text, vector)], model=model)
        return len(texts)

    def _send(self) -> int:
        """Bring a store outside of PostgreSQL to what its rows say."""
        where = configured.address()
        if not where:
            return 0
        model = model_name()
        target = configured.opened(where, model)
        with self._inside():
            rows = queries.unsent_vectors(target.name, model, limit=ROWS_AT_ONCE)
        if rows:
            bring(target, rows)
            with self._inside():
                store.mark_stored(rows, store=target.name)
        return len(rows)

    def _turn(self) -> None:
        self._changed = 0
        try:
            self._changed = self.turn()
            self._failures = 0
        except (NotEmbedded, VectorsAway) as error:
            self._count_failure()
            log.warning("vectors.not_made", why=str(error), failures=self._failures)

    def _count_failure(self) -> None:
        self._failures += 1

    def _give_back(self) -> None:
        with self._inside():
            store.forget_duty(DUTY, owner=self._owner)

    def _pause(self) -> float:
        if self._changed:
            return 0
        return min(PAUSE_SECONDS * 2.0 ** min(self._failures, 10), LONGEST_PAUSE)


def _check_length(vector: bytes, length: int) -> None:
    """Raise NotEmbedded where the model of this name has made vectors of another length."""
    if length and len(vector) != length:
        raise NotEmbedded(
            f"The embedding server answers vectors of {len(vector) // 4:,} numbers, those that are "
            f"kept have {length // 4:,}: another model needs another name."
        )


_makers: list[VectorMaker] = []


@worker_ready.connect(dispatch_uid="workers.slot.vectors.start")
def start_making(**_kwargs: Any) -> None:
    """Begin with the worker."""
    if model_name():
        maker = VectorMaker(owner=canary.worker_id(), inside=forks.Turn().taken)
        maker.start()
        _makers.append(maker)


@worker_shutdown.connect(dispatch_uid="workers.slot.vectors.stop")
def stop_making(**_kwargs: Any) -> None:
    """End with the worker."""
    while _makers:
        _makers.pop().stop()
