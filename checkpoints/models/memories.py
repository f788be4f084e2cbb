"""Memory: what agents know, apart from their state."""

from __future__ import annotations

from django.db import models
from django.db.models.functions import Now
from uuid_utils.compat import uuid7

from ..memories import KINDS, SCOPES, SOURCES


class Memory(models.Model):
    """A memory; its text is replaced when it is corrected, and emptied when it is forgotten.

    `key` is that of the activity that remembered it: repeated, it finds this row. `salt` enters the
    hash by which the log of the workspace knows the text, and goes with it. The database adds the
    column `words`, by which texts are searched (migrations/schema/memories.sql).
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    workspace_id = models.UUIDField()
    scope = models.CharField(max_length=10)
    owner = models.CharField(max_length=200, blank=True)
    kind = models.CharField(max_length=12)
    text = models.TextField(blank=True)
    metadata = models.JSONField(default=dict)
    salt = models.BinaryField()
    outside = models.BooleanField()
    source = models.CharField(max_length=10)
    thread_id = models.UUIDField(null=True)
    branch = models.IntegerField(null=True)
    step = models.IntegerField(null=True)
    node = models.CharField(max_length=100, blank=True, db_default="")
    key = models.CharField(max_length=64, null=True)
    author = models.CharField(max_length=200)
    revision = models.IntegerField(db_default=1)
    created_at = models.DateTimeField(db_default=Now())
    revised_at = models.DateTimeField(null=True)
    revised_by = models.CharField(max_length=200, blank=True, db_default="")
    expires_at = models.DateTimeField(null=True)
    gone_at = models.DateTimeField(null=True)
    gone_by = models.CharField(max_length=200, blank=True, db_default="")
    gone_reason = models.TextField(blank=True, db_default="")

    class Meta:
        db_table = "gp_memory"
        verbose_name_plural = "memories"
        constraints = (
            models.UniqueConstraint(
                fields=("workspace_id", "key"),
                name="gp_memory_once",
                condition=models.Q(key__isnull=False),
            ),
            models.CheckConstraint(
                condition=models.Q(scope__in=SCOPES, kind__in=KINDS, source__in=SOURCES),
                name="gp_memory_words",
            ),
        )
        indexes = (
            models.Index(fields=("workspace_id", "-created_at", "-id"), name="gp_memory_newest"),
            models.Index(
                fields=("workspace_id", "scope", "owner", "-created_at", "-id"),
                name="gp_memory_owner",
            ),
            models.Index(
                fields=("thread_id",),
                name="gp_memory_thread",
                condition=models.Q(thread_id__isnull=False),
            ),
            models.Index(
                fields=("expires_at",),
                name="gp_memory_expiry",
                condition=models.Q(expires_at__isnull=False, gone_at__isnull=True),
            ),
        )


class MemoryText(models.Model):
    """A text that a memory had before it was corrected; gone with the memory."""

    pk = models.CompositePrimaryKey("memory_id", "revision")
    memory_id = models.UUIDField()
    revision = models.IntegerField()
    workspace_id = models.UUIDField()
    text = models.TextField()
    metadata = models.JSONField()
    author = models.CharField(max_length=200)
    written_at = models.DateTimeField()

    class Meta:
        db_table = "gp_memory_text"


class MemoryVector(models.Model):
    """The meaning of a memory, as numbers of an embedding model; a row stands for each memory.

    `vector` is float32 in little endian, NULL until it is made and once the memory is gone; `model`
    is the one that made it. `xid` is the transaction that changed the row last, by which processes
    read what is new. `stored_in` names the store outside of PostgreSQL that has the row as it is.
    """

    memory_id = models.UUIDField(primary_key=True)
    workspace_id = models.UUIDField()
    revision = models.IntegerField(db_default=1)
    model = models.CharField(max_length=300, blank=True, db_default="")
    vector = models.BinaryField(null=True)
    gone = models.BooleanField(db_default=False)
    xid = models.BigIntegerField()
    stored_in = models.CharField(max_length=300, blank=True, db_default="")

    class Meta:
        db_table = "gp_memory_vector"
        indexes = (
            models.Index(fields=("workspace_id", "xid"), name="gp_memory_vector_feed"),
            models.Index(
                fields=("model", "memory_id"),
                name="gp_memory_vector_model",
                condition=models.Q(gone=False),
            ),
            models.Index(fields=("stored_in", "memory_id"), name="gp_memory_vector_store"),
        )
