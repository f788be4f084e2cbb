"""Vectors in Milvus: a collection for each model, an entity for each memory."""

from __future__ import annotations

import array
import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from hashlib import sha256
from typing import Final
from uuid import UUID

from pymilvus import DataType, MilvusClient
from pymilvus.exceptions import MilvusException

from .stores import NUMBER_BYTES, Entry, Hit, Search, VectorsAway

SECONDS: Final = 5
PAGE: Final = 1_000
# Bytes of a text. An owner has at most 255 characters, the scope before it nine.
ID_BYTES, KIND_BYTES, OWNER_BYTES = 36, 64, 1_100


class Milvus:
    """A store in a server of Milvus, or in the local mode of its client."""

    def __init__(self, client: MilvusClient, *, model: str, address: str) -> None:
        self._client = client
        self.collection = f"gatepost_{sha256(model.encode()).hexdigest()[:12]}"
        self.name = f"milvus:{address}/{self.collection}"
        self._length = 0  # of the collection's vectors; 0: not known

    def put(self, entries: Sequence[Entry]) -> None:
        """Add entries, or replace those of the same id; ValueError for another length."""
        if not entries:
            return
        with _answering():
            length = self._known_length() or self._create(len(entries[0].vector) // NUMBER_BYTES)
            if any(len(entry.vector) != length * NUMBER_BYTES for entry in entries):
                raise ValueError(f"a vector has another length than {length:,}")
            rows = [
                {
                    "id": str(entry.id),
                    "workspace": str(entry.workspace),
                    "revision": entry.revision,
                    "owner": entry.owner,
                    "kind": entry.kind,
                    "vector": _numbers(entry.vector),
                }
                for entry in entries
            ]
            self._client.upsert(self.collection, rows, timeout=SECONDS)

    def remove(self, workspace: UUID, ids: Iterable[UUID]) -> None:
        """Remove entries; those that are not there are passed over."""
        gone = [str(ident) for ident in ids]
        with _answering():
            if gone and self._known_length():
                self._client.delete(
                    self.collection,
                    filter=f"{_of(workspace)} and id in {_literal(gone)}",
                    timeout=SECONDS,
                )

    def search(self, search: Search) -> list[Hit]:
        """The nearest entries, the best first; ValueError for a vector of another length."""
        with _answering():
            length = self._known_length()
            if not length:
                return []
            if len(search.vector) != length * NUMBER_BYTES:
                raise ValueError(f"the vector has another length than {length:,}")
            where = _of(search.workspace)
            for field, some in (("owner", search.owners), ("kind", search.kinds)):
                if some is not None and not some:
                    return []  # no list of a filter may be empty
                if some is not None:
                    where += f" and {field} in {_literal(list(some))}"
            (hits,) = self._client.search(
                self.collection,
                data=[_numbers(search.vector)],
                filter=where,
                limit=search.k,
                output_fields=["revision"],
                timeout=SECONDS,
            )
            return [
                Hit(UUID(hit["id"]), int(hit["entity"]["revision"]), float(hit["distance"]))
                for hit in hits
            ]

    def revisions(self, workspace: UUID) -> dict[UUID, int]:
        """{memory: revision} of all entries of a workspace."""
        results: dict[UUID, int] = {}
        with _answering():
            if not self._known_length():
                return results
            pages = self._client.query_iterator(
                self.collection,
                batch_size=PAGE,
                filter=_of(workspace),
                output_fields=["id", "revision"],
                timeout=SECONDS,
            )
            try:
                while rows := pages.next():
                    results |= {UUID(row["id"]): int(row["revision"]) for row in rows}
            finally:
                pages.close()
        return results

    def count(self) -> int:
        """Entries of all workspaces."""
        with _answering():
            if not self._known_length():
                return 0
            (row,) = self._client.query(
                self.collection, filter="", output_fields=["count(*)"], timeout=SECONDS
            )
            return int(row["count(*)"])

    def clear(self) -> None:
        """Remove all entries, of this model."""
        with _answering():
            if self._known_length():
                self._client.drop_collection(self.collection, timeout=SECONDS)
            self._length = 0

    def _known_length(self) -> int:
        """Numbers of a vector of the collection; 0 while there is none."""
        if not self._length and self._client.has_collection(self.collection, timeout=SECONDS):
            fields = self._client.describe_collection(self.collection, timeout=SECONDS)["fields"]
            (vector,) = (field for field in fields if field["name"] == "vector")
            self._length = int(vector["params"]["dim"])
        return self._length

    def _create(self, length: int) -> int:
        schema = self._client.create_schema(auto_id=False, enable_dynamic_field=False)
        text, is_key = DataType.VARCHAR, {"is_primary": True}
        schema.add_field("id", text, max_length=ID_BYTES, **is_key)
        for name, most in (("workspace", ID_BYTES), ("owner", OWNER_BYTES), ("kind", KIND_BYTES)):
            schema.add_field(name, text, max_length=most)
        schema.add_field("revision", DataType.INT64)
        schema.add_field("vector", DataType.FLOAT_VECTOR, dim=length)
        index = self._client.prepare_index_params()
        index.add_index("vector", index_type="AUTOINDEX", metric_type="COSINE")
        # Strong: what was put or removed is so for the next search, wherever it is asked.
        self._client.create_collection(
            self.collection,
            schema=schema,
            index_params=index,
            consistency_level="Strong",
            timeout=SECONDS,
        )
        self._length = length
        return length


def connect(url: str, *, model: str, key: str = "") -> Milvus:
    """The store in the server at an address; raises VectorsAway where it does not answer."""
    with _answering():
        client = MilvusClient(uri=url, token=key, timeout=SECONDS)
    return Milvus(client, model=model, address=url)


def _of(workspace: UUID) -> str:
    return f"workspace == {_literal(str(workspace))}"


def _literal(value: str | list[str]) -> str:
    """A text or list in a filter, where both are written as in JSON; templates lack locally."""
    return json.dumps(value, ensure_ascii=False)


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
    except (MilvusException, OSError) as error:
        raise VectorsAway(f"Milvus does not answer: {error}") from error
