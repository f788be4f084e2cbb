"""A store is filled from PostgreSQL, and each difference between the two is found."""

from __future__ import annotations

from uuid import UUID, uuid4

import pytest

from checkpoints import queries, store
from checkpoints.memories import NewMemory
from checkpoints.vectors import contents
from checkpoints.vectors.contents import Difference
from checkpoints.vectors.stores import Entry, VectorStore
from tests.support.embeddings import meaning, unit
from tests.unit.checkpoints.builders import OPERATOR, make_workspace, rows

from .test_stores import STORES

pytestmark = pytest.mark.requirement("A11")
MODEL = "openai:contents"


@pytest.fixture(params=STORES)
def target(request: pytest.FixtureRequest) -> VectorStore:
    return STORES[request.param]()


def with_vectors(texts: list[str], workspace: UUID) -> list[UUID]:
    """Memories of a workspace whose vectors are made."""
    new = [NewMemory("workspace", "", "fact", text, source="person") for text in texts]
    ids = [store.remember(workspace, one, actor=OPERATOR).id for one in new]
    waiting = [one for one in queries.waiting_texts(MODEL, limit=1_000) if one.id in ids]
    store.save_vectors([(one, unit(meaning(one.text))) for one in waiting], model=MODEL)
    return ids


def test_a_filled_store_is_the_same(db: None, target: VectorStore) -> None:
    rows("UPDATE gp_memory_vector SET model = '', vector = NULL WHERE model = %s", (MODEL,))
    here, elsewhere = make_workspace(), make_workspace()
    ids = with_vectors([f"Fact {n}." for n in range(7)], here)
    with_vectors(["Lager."], elsewhere)
    assert contents.difference(target, MODEL) == Difference(missing=8)
    assert contents.fill(target, MODEL, at_once=3) == 8
    assert not contents.difference(target, MODEL)
    assert target.revisions(here) == dict.fromkeys(ids, 1)


def test_each_difference_is_found_and_mended(db: None, target: VectorStore) -> None:
    here = make_workspace()
    gone, revised, stays = with_vectors(["One.", "Two.", "Three."], here)
    contents.fill(target, MODEL)
    store.forget_memories([gone], workspace=here, reason="No.", actor=OPERATOR)
    store.correct_memory(revised, workspace=here, text="2.", reason="No.", actor=OPERATOR)
    with_vectors([], here)
    (waiting,) = [one for one in queries.waiting_texts(MODEL, limit=1_000) if one.id == revised]
    store.save_vectors([(waiting, unit(meaning(waiting.text)))], model=MODEL)
    stranger = Entry(uuid4(), 1, here, "workspace:", "fact", unit(meaning("Planted.")))
    target.put([stranger])
    target.remove(here, [stays])
    assert contents.difference(target, MODEL) == Difference(1, 1, 2)
    contents.fill(target, MODEL)
    assert not contents.difference(target, MODEL)
    assert target.revisions(here) == {revised: 2, stays: 1}


def test_an_entry_of_an_unknown_workspace_is_extra(db: None, target: VectorStore) -> None:
    with_vectors(["One."], make_workspace())
    contents.fill(target, MODEL)
    target.put([Entry(uuid4(), 1, uuid4(), "workspace:", "fact", unit(meaning("Planted.")))])
    assert contents.difference(target, MODEL) == Difference(extra=1)
