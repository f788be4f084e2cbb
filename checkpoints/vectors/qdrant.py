"""Vectors in Qdrant: a collection for each model, a point for each memory."""

from __future__ import annotations

import array
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from hashlib import sha256
from typing import Any, Final
from uuid import UUID

from qdrant_client import QdrantClient, models
from qdrant_client.http.exceptions import ApiException, UnexpectedResponse

from .stores import NUMBER_BYTES, Entry, Hit, Search, VectorsAway

SECONDS: Final = 5
PAGE: Final = 1_000
_FIELDS: Final = ("workspace", "owner", "kind")


class Qdrant:
    """A store in a server of Qdrant, or in the local mode of its client (`is_local`)."""

    def __init__(
        self, client: QdrantClient, *, model: str, address: str, is_local: bool = False
    ) -> None:
        self._client, self._is_local = client, is_local
        self.collection = f"gatepost_{sha256(model.encode()).hexdigest()[:12]}"
        self.name = f"qdrant:{address}/{self.collection}"
        self._length = 0  # of the collection's vectors; 0: not known

    def put(self, entries: Sequence[Entry]) -> None:
        """Add entries, or replace those of the same id; ValueError for another length."""
        if not entries:
            return
        with _answering():
            length = self._known_length() or self._create(len(entries[0].vector) // NUMBER_BYTES)
            if any(len(entry.vector) != length * NUMBER_BYTES for entry in entries):
                raise ValueError(f"a vector has another length than {length:,}")
            points = [
                models.PointStruct(
                    id=str(entry.id),
                    vector=_numbers(entry.vector),
                    payload={
                        "workspace": str(entry.workspace),
                        "revision": entry.revision,
                        "owner": entry.owner,
                        "kind": entry.kind,
                    },
                )
                for entry in entries
            ]
            self._client.upsert(self.collection, points, wait=True)

    def remove(self, workspace: UUID, ids: Iterable[UUID]) -> None:
        """Remove entries; those that are not there are passed over."""
        gone = [str(ident) for ident in ids]
        with _answering():
            if gone and self._known_length():
                chosen = _where(workspace, more=[models.HasIdCondition(has_id=list(gone))])
                selector = models.FilterSelector(filter=chosen)
                self._client.delete(self.collection, selector, wait=True)

    def search(self, search: Search) -> list[Hit]:
        """The nearest entries, the best first; ValueError for a vector of another length."""
        with _answering():
            length = self._known_length()
            if not length:
                return []
            if len(search.vector) != length * NUMBER_BYTES:
                raise ValueError(f"the vector has another length than {length:,}")
            more: list[Any] = []
            for key, some in (("owner", search.owners), ("kind", search.kinds)):
                if some is not None:
                    match = models.MatchAny(any=list(some))
                    more.append(models.FieldCondition(key=key, match=match))
            answer = self._client.query_points(
                self.collection,
                query=_numbers(search.vector),
                query_filter=_where(search.workspace, more=more),
                limit=search.k,
                with_payload=["revision"],
            )
        return [
            Hit(UUID(str(point.id)), (point.payload or {})["revision"], point.score)
            for point in answer.points
        ]

    def revisions(self, workspace: UUID) -> dict[UUID, int]:
        """{memory: revision} of all entries of a workspace."""
        results: dict[UUID, int] = {}
        offset: Any = None
        with _answering():
            if not self._known_length():
                return results
            while True:
                points, offset = self._client.scroll(
                    self.collection,
                    scroll_filter=_where(workspace),
                    limit=PAGE,
                    offset=offset,
                    with_payload=["revision"],
                )
                results |= {UUID(str(p.id)): (p.payload or {})["revision"] for p in points}
                if offset is None:
                    return results

    def count(self) -> int:
        """Entries of all workspaces."""
        with _answering():
            if not self._known_length():
                return 0
            return self._client.count(self.collection, exact=True).count

    def clear(self) -> None:
        """Remove all entries, of this model."""
        with _answering():
            if self._known_length():
                self._client.delete_collection(self.collection)
            self._length = 0

    def _known_length(self) -> int:
        """Numbers of a vector of the collection; 0 while there is none."""
        if not self._length and self._client.collection_exists(self.collection):
            sizes: Any = self._client.get_collection(self.collection).config.params.vectors
            self._length = sizes.size
        return self._length

    def _create(self, length: int) -> int:
        sizes = models.VectorParams(size=length, distance=models.Distance.COSINE)
        self._client.create_collection(self.collection, vectors_config=sizes)
        for field in () if self._is_local else _FIELDS:
            self._client.create_payload_index(
                self.collection, field, field_schema=models.PayloadSchemaType.KEYWORD
            )
        self._length = length
        return length


def connect(url: str, *, model: str, key: str = "") -> Qdrant:
    """The store in the server at an address; nothing is sent yet."""
    client = QdrantClient(url=url, api_key=key or None, timeout=SECONDS, check_compatibility=False)
    return Qdrant(client, model=model, address=url)


def _where(workspace: UUID, *, more: Sequence[Any] = ()) -> models.Filter:
    match = models.MatchValue(value=str(workspace))
    return models.Filter(must=[models.FieldCondition(key="workspace", match=match), *more])


def _numbers(vector: bytes) -> list[float]:
    numbers = array.array("f", vector)
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers.tolist()


@contextmanager
def _answering() -> Iterator[None]:
    """Errors of the client as VectorsAway."""
    try:
        yield
    except UnexpectedResponse as error:
        raise VectorsAway(f"Qdrant answered {error.status_code}") from error
    except (ApiException, OSError) as error:
        raise VectorsAway(f"Qdrant does not answer: {error}") from error
