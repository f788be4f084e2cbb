"""Rows of readers as answers: what is sent is what the document describes."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Annotated

from pydantic import BaseModel, Field, computed_field

from checkpoints.views import ActivityRow, CheckpointRow
from dashboard.documents.answer_json import json_value, name_of, schema_of


@dataclass(frozen=True, slots=True)
class NoteRow:
    """A note."""

    id: int
    workspace: Annotated[int, Field(exclude=True)]
    text: Annotated[str, Field(description="As it was written.")]
    tags: tuple[str, ...] = ()

    @computed_field(description="In letters.")
    @property
    def length(self) -> int:
        return len(self.text)


class NoteList(BaseModel):
    """Notes."""

    results: list[NoteRow]


ROW = NoteRow(1, 7, "hi", ("a",))
SENT = {"id": 1, "text": "hi", "tags": ["a"], "length": 2}


def test_a_row_is_sent_without_what_it_excludes():
    assert json_value(ROW) == SENT
    assert json_value([ROW]) == [SENT]
    assert json_value(NoteList(results=[ROW])) == {"results": [SENT]}


def test_the_document_describes_what_is_sent():
    schema = schema_of(NoteRow)
    assert (name_of(NoteRow), schema["title"], schema["description"]) == ("Note", "Note", "A note.")
    assert [*schema["properties"]] == schema["required"] == [*SENT]
    assert schema["properties"]["text"]["description"] == "As it was written."
    assert "default" not in schema["properties"]["tags"]
    assert schema["properties"]["length"] == {
        "description": "In letters.",
        "title": "Length",
        "type": "integer",
    }
    assert [*schema_of(NoteList)["$defs"]] == ["Note"]


def test_salts_and_deltas_are_in_no_answer():
    for row, names in ((ActivityRow, {"salt", "revision"}), (CheckpointRow, {"delta"})):
        assert names <= {one.name for one in fields(row)}
        assert names.isdisjoint(schema_of(row)["properties"])
