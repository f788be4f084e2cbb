"""What every store of vectors does: put, replace, remove, search by nearness, owner and kind."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from uuid import UUID, uuid4

import pytest

from checkpoints.vectors.in_process import InProcess
from checkpoints.vectors.stores import Entry, Search, VectorStore
from tests.support.embeddings import unit

pytestmark = pytest.mark.requirement("A11")
NUMBERS = 24


def _in_process() -> VectorStore:
    return InProcess()


def _qdrant() -> VectorStore:
    from qdrant_client import QdrantClient

    from checkpoints.vectors.qdrant import Qdrant

    return Qdrant(QdrantClient(":memory:"), model="tiny", address="local", is_local=True)


STORES: dict[str, Callable[[], VectorStore]] = {
    "process": _in_process,
    "qdrant": _qdrant,
}


@contextmanager
def _milvus(folder: Path) -> Iterator[VectorStore]:
    from milvus_lite.server_manager import server_manager_instance as servers
    from pymilvus import MilvusClient

    from checkpoints.vectors.milvus import Milvus

    file = str(folder / "local.db")
    yield Milvus(MilvusClient(file), model="tiny", address="local")
    servers.release_server(file)


# Milvus in a process brings packages that would change how ours work: test_milvus.py has it beside.
@pytest.fixture(params=["milvus"] if find_spec("milvus_lite") else STORES)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[VectorStore]:
    if request.param == "qdrant" and find_spec("qdrant_client") is None:
        pytest.fail("qdrant-client is not installed: requirements-dev.lock has it")
    if request.param == "milvus":
        with _milvus(tmp_path) as made:
            yield made
    else:
        yield STORES[request.param]()


def direction(*numbers: float) -> bytes:
    """A vector that begins with these numbers."""
    return unit([*numbers, *[0.0] * (NUMBERS - len(numbers))])


def entry(workspace: UUID, vector: bytes, owner: str = "workspace:", kind: str = "fact") -> Entry:
    return Entry(uuid4(), 1, workspace, owner, kind, vector)


def test_the_nearest_come_first_with_their_revisions(store: VectorStore) -> None:
    here = uuid4()
    far, near, exact = (entry(here, direction(*v)) for v in ((0, 1), (1, 0.5), (1, 0)))
    store.put([far, near, exact])
    hits = store.search(Search(here, direction(2, 0), k=2))
    assert [(hit.id, hit.revision) for hit in hits] == [(exact.id, 1), (near.id, 1)]
    assert hits[0].score == pytest.approx(1, abs=0.02)
    assert hits[1].score == pytest.approx(0.894, abs=0.02)


def test_an_entry_is_replaced_by_its_id(store: VectorStore) -> None:
    here = uuid4()
    one = entry(here, direction(1, 0))
    store.put([one, entry(here, direction(0, 0, 1))])
    store.put([Entry(one.id, 2, here, one.owner, one.kind, direction(0, 1))])
    (hit,) = store.search(Search(here, direction(0, 1), k=1))
    assert (hit.id, hit.revision) == (one.id, 2)
    assert store.revisions(here)[one.id] == 2
    assert len(store.revisions(here)) == 2


def test_what_is_removed_is_found_no_more(store: VectorStore) -> None:
    here = uuid4()
    gone, stays = entry(here, direction(1, 0)), entry(here, direction(1, 1))
    store.put([gone, stays])
    store.remove(here, [gone.id, uuid4()])
    assert [hit.id for hit in store.search(Search(here, direction(1, 0), k=5))] == [stays.id]
    assert store.revisions(here) == {stays.id: 1}
    assert store.count() == 1
    again = entry(here, direction(0, 1))
    store.put([again])
    assert store.revisions(here) == {stays.id: 1, again.id: 1}
    (hit,) = store.search(Search(here, direction(0, 1), k=1))
    assert hit.id == again.id


def test_a_search_keeps_to_its_workspace_owners_and_kinds(store: VectorStore) -> None:
    here, elsewhere = uuid4(), uuid4()
    same = direction(1, 0)
    own, agents, document = (
        entry(here, same, "thread:1"),
        entry(here, same, "agent:a"),
        entry(here, same, "agent:a", kind="document"),
    )
    foreign = entry(elsewhere, same, "agent:a")
    store.put([own, agents, document, foreign])

    def hits(**conditions: set[str]) -> set[UUID]:
        return {hit.id for hit in store.search(Search(here, same, k=10, **conditions))}

    assert hits() == {own.id, agents.id, document.id}
    assert hits(owners={"agent:a"}) == {agents.id, document.id}
    assert hits(owners={"agent:a"}, kinds={"document"}) == {document.id}
    assert hits(owners={"agent:b"}) == set()
    assert hits(kinds=set()) == set()
    store.remove(here, [foreign.id])
    assert store.revisions(elsewhere) == {foreign.id: 1}, "of another workspace"


@pytest.mark.parametrize(
    "owner",
    [
        'agent:a" or workspace != "',
        "agent:a' or 1 == 1 or owner == '",
        "agent:back\\slash",
        "agent:{a}%$",
        "agent:übergrößé 🙂",
        "agent:" + "é" * 250,
    ],
)
def test_an_owner_is_a_text_and_no_part_of_a_filter(store: VectorStore, owner: str) -> None:
    here, same = uuid4(), direction(1, 0)
    own, other = entry(here, same, owner), entry(here, same, "agent:b")
    store.put([own, other])
    (hit,) = store.search(Search(here, same, k=5, owners={owner}))
    assert hit.id == own.id


def test_an_empty_store_finds_nothing(store: VectorStore) -> None:
    assert store.search(Search(uuid4(), direction(1), k=3)) == []
    assert store.revisions(uuid4()) == {}
    assert store.count() == 0
    store.remove(uuid4(), [uuid4()])
    store.put([])


def test_another_length_is_refused(store: VectorStore) -> None:
    here = uuid4()
    store.put([entry(here, direction(1))])
    with pytest.raises(ValueError, match="another length"):
        store.put([entry(here, unit([1.0, 1.0]))])
    with pytest.raises(ValueError, match="another length"):
        store.search(Search(here, unit([1.0, 1.0]), k=1))


def test_a_cleared_store_is_empty_and_can_be_filled_again(store: VectorStore) -> None:
    here = uuid4()
    store.put([entry(here, direction(1))])
    store.clear()
    assert store.revisions(here) == {}
    one = entry(here, direction(0, 1))
    store.put([one])
    assert store.revisions(here) == {one.id: 1}


def test_a_thousand_entries_are_found_by_nearness(store: VectorStore) -> None:
    """Compared with the angles themselves: the nearest of each question is the same."""
    here, chance = uuid4(), random.Random(5)
    vectors = {uuid4(): [chance.gauss(0, 1) for _ in range(NUMBERS)] for _ in range(1_000)}
    entries = [Entry(one, 1, here, "workspace:", "fact", unit(v)) for one, v in vectors.items()]
    for start in range(0, 1_000, 300):
        store.put(entries[start : start + 300])
    assert len(store.revisions(here)) == 1_000
    same = 0
    for _ in range(20):
        query = [chance.gauss(0, 1) for _ in range(NUMBERS)]

        def angle(ident: UUID, query: list[float] = query) -> float:
            values = vectors[ident]
            length = math.hypot(*values)
            return sum(a * b for a, b in zip(values, query, strict=True)) / length

        exact = sorted(vectors, key=angle, reverse=True)[:10]
        hits = store.search(Search(here, unit(query), k=10))
        same += len({hit.id for hit in hits} & set(exact))
    assert same >= 190, f"{same} of 200"
