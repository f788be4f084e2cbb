"""What was ever written about a thread."""

from __future__ import annotations

from django.db import models
from django.db.models.functions import Now
from uuid_utils.compat import uuid7

from .threads import Thread, Workspace


class Checkpoint(models.Model):
    """The state after one step, as a delta to its parent; never updated, never deleted.

    `number` is its ordinal in the thread. Within one branch the parent of a checkpoint is the one
    numbered before it; the first of a branch (`number == branch_start`) may have its parent in an
    older branch or, in a fork, in another thread. A state is therefore a few index ranges.
    """

    pk = models.CompositePrimaryKey("thread_id", "id")
    id = models.UUIDField(default=uuid7, editable=False)
    thread = models.ForeignKey(Thread, models.DO_NOTHING, db_constraint=False, db_index=False)
    workspace_id = models.UUIDField()
    number = models.IntegerField()
    branch = models.IntegerField()
    branch_start = models.IntegerField()
    step = models.IntegerField()
    parent = models.UUIDField(null=True)
    parent_thread = models.UUIDField(null=True)
    parent_number = models.IntegerField(null=True)
    source = models.CharField(max_length=10)
    nodes = models.JSONField(default=list)
    next_nodes = models.JSONField(default=list)
    delta = models.JSONField()
    salt = models.BinaryField()
    delta_hash = models.BinaryField()
    state_hash = models.BinaryField()
    state_bytes = models.BigIntegerField()
    schema_version = models.IntegerField(default=1)
    agent_version_id = models.UUIDField()
    config = models.JSONField(null=True)
    created_by = models.CharField(max_length=200)
    created_at = models.DateTimeField(db_default=Now())
    # Of the state's channels, on every 32nd checkpoint; follows from the deltas.
    digests = models.BinaryField(null=True)

    class Meta:
        db_table = "gp_checkpoint"
        constraints = (
            models.UniqueConstraint(fields=("thread", "number"), name="gp_checkpoint_number"),
        )


class Keyframe(models.Model):
    """A cached full state of one checkpoint as canonical JSON; may be deleted at any time."""

    pk = models.CompositePrimaryKey("thread_id", "number")
    thread = models.ForeignKey(Thread, models.DO_NOTHING, db_constraint=False, db_index=False)
    number = models.IntegerField()
    state = models.TextField()
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "gp_keyframe"


class Content(models.Model):
    """A large value that deltas of a thread name by its hash: canonical JSON, kept once."""

    pk = models.CompositePrimaryKey("thread_id", "sha256")
    thread = models.ForeignKey(Thread, models.DO_NOTHING, db_constraint=False, db_index=False)
    sha256 = models.CharField(max_length=64)
    workspace_id = models.UUIDField()
    body = models.TextField()

    class Meta:
        db_table = "gp_content"


class Event(models.Model):
    """One immutable entry of a thread's log, chained by hash to the one before."""

    pk = models.CompositePrimaryKey("thread_id", "seq")
    thread = models.ForeignKey(Thread, models.DO_NOTHING, db_constraint=False, db_index=False)
    seq = models.BigIntegerField()
    workspace_id = models.UUIDField()
    kind = models.CharField(max_length=50)
    v = models.SmallIntegerField(default=1)
    actor = models.CharField(max_length=200)
    data = models.JSONField()
    salt = models.BinaryField()
    data_hash = models.BinaryField()
    at = models.DateTimeField()
    prev_hash = models.BinaryField()
    hash = models.BinaryField()

    class Meta:
        db_table = "gp_event"


class Activity(models.Model):
    """Something that happened once at one position and must not happen again."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    thread = models.ForeignKey(Thread, models.DO_NOTHING, db_constraint=False, db_index=False)
    workspace_id = models.UUIDField()
    branch = models.IntegerField()
    step = models.IntegerField()
    node = models.CharField(max_length=100)
    index = models.IntegerField(default=0)
    key = models.CharField(max_length=200)
    revision = models.SmallIntegerField(default=0)
    kind = models.CharField(max_length=10)
    tool = models.CharField(max_length=200)
    state = models.CharField(max_length=12)
    args = models.JSONField()
    salt = models.BinaryField()
    input_hash = models.BinaryField()
    result = models.JSONField(null=True)
    result_hash = models.BinaryField(null=True)
    error = models.TextField(default="", blank=True)
    attempts = models.SmallIntegerField(default=1)
    cursor = models.JSONField(null=True)
    progress = models.JSONField(null=True)
    usage = models.JSONField(null=True)
    idempotency_key = models.CharField(max_length=64)
    undo = models.CharField(max_length=200, default="", blank=True)
    undo_result = models.JSONField(null=True)
    approval_id = models.UUIDField(null=True)
    started_at = models.DateTimeField(db_default=Now())
    finished_at = models.DateTimeField(null=True)

    class Meta:
        db_table = "gp_activity"
        verbose_name_plural = "activities"
        constraints = (
            models.UniqueConstraint(
                fields=("thread", "branch", "step", "node", "index", "key", "revision"),
                name="gp_activity_position",
            ),
            # An approval is used once. Few activities need one: the others take no room here.
            models.UniqueConstraint(
                fields=("approval_id",),
                name="gp_activity_approval",
                condition=models.Q(approval_id__isnull=False),
            ),
        )


class Artifact(models.Model):
    """A file that state refers to by its hash; the bytes lie in Django storage."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    # The unique constraint begins with it.
    workspace = models.ForeignKey(Workspace, models.PROTECT, related_name="+", db_index=False)
    sha256 = models.CharField(max_length=64)
    name = models.CharField(max_length=255)
    media_type = models.CharField(max_length=100)
    size = models.BigIntegerField()
    path = models.CharField(max_length=500)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "gp_artifact"
        constraints = (
            models.UniqueConstraint(fields=("workspace", "sha256"), name="gp_artifact_once"),
        )
