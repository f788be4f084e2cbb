"""`./manage.py vectors`: how far the vectors of memories are; fills a store, and empties one."""

from __future__ import annotations

import argparse

from django.conf import settings
from django.core.management.base import CommandError
from pydantic import BaseModel

from checkpoints import queries
from checkpoints.vectors import configured, contents
from checkpoints.vectors.stores import IN_PROCESS, VectorsAway, VectorStore
from dashboard.configuration.sources import Misconfigured
from dashboard.configuration.vectors import store as checked
from dashboard.kit.terminal.console import TerminalCommand, add_answer_arguments
from dashboard.kit.terminal.tables import facts
from workers.language.embeddings import model_name


class Vectors(BaseModel):
    """Memories, those that wait for a vector, and what a store has otherwise than PostgreSQL.

    `to_send`: changes that the store of the settings does not have yet, removals among them.
    """

    model: str
    store: str
    memories: int
    waiting: int
    refused: int
    to_send: int
    entries: int | None = None
    missing: int | None = None
    other_revision: int | None = None
    extra: int | None = None


class Command(TerminalCommand):
    """Vectors of memories."""

    help = (
        "Shows how many memories have their vector. PostgreSQL keeps all of them: --fill brings "
        "them into a store, compares ids and revisions, and ends with 1 where they differ. Then "
        "name that store in GATEPOST_VECTORS, and empty the former one with --clear."
    )
    examples = """
        vectors
        vectors --fill qdrant:http://127.0.0.1:6333
        vectors --fill process
        vectors --clear qdrant:http://127.0.0.1:6333
    """

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Declare the stores."""
        choice = parser.add_mutually_exclusive_group()
        choice.add_argument(
            "--fill", metavar="STORE", help="qdrant:URL, milvus:URL, or process for a trial"
        )
        choice.add_argument(
            "--clear", metavar="STORE", help="remove all vectors of this model there"
        )
        add_answer_arguments(parser)

    def act(self) -> None:
        """Show, fill or empty."""
        model = model_name()
        if not model:
            raise CommandError(
                "No embedding model: set GATEPOST_EMBEDDINGS (docs/howto/memory.md)."
            )
        fills, clears = self.options["fill"], self.options["clear"]
        where = fills or clears or configured.address()
        try:
            shown = Vectors(
                model=model.partition("#")[0],
                store=where or IN_PROCESS,
                **self._progress(model),
            )
            if clears:
                _store(clears, model).clear()
            elif fills:
                target = _store(fills, model)
                contents.fill(target, model)
                differs = contents.difference(target, model)
                shown = shown.model_copy(
                    update={
                        "entries": target.count(),
                        "missing": differs.missing,
                        "other_revision": differs.other_revision,
                        "extra": differs.extra,
                    }
                )
        except (VectorsAway, ValueError) as error:
            raise CommandError(f"{error}.") from error
        lines = shown.model_dump(exclude_none=True)
        self.show(shown, facts("", [(n.replace("_", " "), str(v)) for n, v in lines.items()]))
        if fills and differs:
            raise CommandError("The store differs from PostgreSQL. Call this again.")
        if fills and fills != IN_PROCESS:
            self.say(f"The same. Set GATEPOST_VECTORS={fills} for all processes.")

    def _progress(self, model: str) -> dict[str, int]:
        progress = queries.vector_progress(model)
        counts = {"waiting": progress.waiting, "refused": progress.refused}
        where = configured.address()
        to_send = queries.unsent_count(configured.opened(where, model).name, model) if where else 0
        return {"memories": progress.memories, **counts, "to_send": to_send}


def _store(text: str, model: str) -> VectorStore:
    """The store that an option names; raises CommandError."""
    if text == IN_PROCESS:
        return configured.opened("", model)
    try:
        key = settings.GATEPOST_VECTORS_KEY
        return configured.opened(checked(text, embeddings=model, key=key), model)
    except Misconfigured as error:
        raise CommandError(str(error)) from error
