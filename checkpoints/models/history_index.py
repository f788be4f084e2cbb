"""The index of the history, and the questions that were asked of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.db import models
from django.db.models.functions import Now
from uuid_utils.compat import uuid7

if TYPE_CHECKING:
    _Field = models.Field[Any, Any]
else:
    _Field = models.Field


class ArrayOf(_Field):
    """An array of PostgreSQL; read and written by SQL alone.

    Django's own comes with an app that asks each new connection about types of other extensions.
    """

    def __init__(self, of: str = "", **more: Any) -> None:
        self.of = of
        super().__init__(**more)

    def deconstruct(self) -> tuple[str, str, list[Any], dict[str, Any]]:
        """Name what a migration writes."""
        name, path, args, more = super().deconstruct()
        return name, path, [*args], {**more, "of": self.of}

    def db_type(self, connection: Any) -> str:
        """The type of the column."""
        return f"{self.of}[]"


class IndexedEvent(models.Model):
    """The words of an event, of its checkpoint's changes and of its call, each as a hash.

    A cache that is made anew from the log. No text is in it: an index keeps its entries after the
    rows are gone, so words would outlive an erasure there.
    """

    pk = models.CompositePrimaryKey("thread_id", "seq")
    thread_id = models.UUIDField()
    seq = models.BigIntegerField()
    workspace_id = models.UUIDField()
    kind = models.CharField(max_length=40)
    agent = models.CharField(max_length=100)
    at = models.DateTimeField()
    words = ArrayOf("integer")

    class Meta:
        db_table = "gp_indexed_event"


class IndexPosition(models.Model):
    """The last event that is in the index, in the order of the feed."""

    name = models.CharField(primary_key=True, max_length=50)
    xid = models.BigIntegerField()
    thread_id = models.UUIDField()
    seq = models.BigIntegerField()

    class Meta:
        db_table = "gp_index_position"


class RecordQuestion(models.Model):
    """A question that a person asked of the record, and what was answered.

    `answer` is JSON as the call gave it. `salt` makes its hash in the workspace's log unguessable.
    `threads` are those that the answer rests on: with one of them question and answer are erased.
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    workspace_id = models.UUIDField()
    asked_by = models.CharField(max_length=250)
    question = models.TextField(blank=True)
    scope = models.JSONField(default=dict)
    answer = models.JSONField(default=dict)
    salt = models.BinaryField()
    threads = ArrayOf("uuid")
    at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "gp_record_question"
        indexes = (
            models.Index("workspace_id", models.F("id").desc(), name="gp_record_question_newest"),
        )
