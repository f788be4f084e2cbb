"""Checks of recall by meaning: the embedding server and the store of vectors answer."""

from __future__ import annotations

from collections.abc import Iterator

from django.conf import settings

from checkpoints import queries
from checkpoints.vectors import configured
from checkpoints.vectors.stores import VectorsAway
from workers.language.embeddings import NotEmbedded, embed, model_name

from .findings import Finding, Seen, note, ok, warning, wrong

NAME = "vectors of memories"
SECONDS = 5.0


def vectors(_seen: Seen) -> Iterator[Finding]:
    """Memories are found by meaning where the settings name a model."""
    model = model_name()
    if not model:
        yield note(NAME, "none: memories are found by words", "docs/howto/memory.md says how.")
        return
    words = "Until then memories are found by their words."
    try:
        embed(["doctor"], seconds=SECONDS)
        configured.opened(settings.GATEPOST_VECTORS, model).count()
    except (NotEmbedded, VectorsAway) as error:
        yield wrong(NAME, str(error), f"Look at GATEPOST_EMBEDDINGS and GATEPOST_VECTORS. {words}")
        return
    progress = queries.vector_progress(model)
    text = f"{progress.memories - progress.waiting:,} of {progress.memories:,} memories have theirs"
    if progress.refused:
        refused = f"{text}; the embedding server refused {progress.refused:,}"
        yield warning(NAME, refused, "`doctor` names them among the rows that are set aside.")
    else:
        yield ok(NAME, text)
