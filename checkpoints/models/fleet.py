"""What the fleet works with: news to deliver, workers, duties of one at a time."""

from __future__ import annotations

from django.db import models
from django.db.models.functions import Now
from uuid_utils.compat import uuid7

from .threads import Thread


class Wake(models.Model):
    """News for a thread, written with the change that causes it and delivered afterwards."""

    thread = models.ForeignKey(Thread, models.DO_NOTHING, db_constraint=False, db_index=False)
    kind = models.CharField(max_length=30)
    ref = models.CharField(max_length=200)
    created_at = models.DateTimeField(db_default=Now())
    due_at = models.DateTimeField(db_default=Now(), help_text="not delivered before")

    class Meta:
        db_table = "gp_wake"
        constraints = (
            models.UniqueConstraint(fields=("thread", "kind", "ref"), name="gp_wake_once"),
        )


class Worker(models.Model):
    """One worker process group and when it last proved that its loop turns."""

    id = models.CharField(primary_key=True, max_length=200)
    host = models.CharField(max_length=200)
    pid = models.IntegerField()
    slots = models.IntegerField(default=1)
    queues = models.JSONField(default=list)
    agents = models.JSONField(default=list, help_text="agent version ids")
    started_at = models.DateTimeField(db_default=Now())
    seen_at = models.DateTimeField(db_default=Now())
    stopped_at = models.DateTimeField(null=True)
    messages_refused = models.BigIntegerField(db_default=0)
    models = models.JSONField(
        db_default={}, default=dict, help_text="by agent and workspace (its name, or empty)"
    )

    class Meta:
        db_table = "gp_worker"
        indexes = (models.Index(fields=("-started_at", "-id"), name="gp_worker_started"),)


class Breaker(models.Model):
    """Threads of a selection that nobody may work on, from the trip to the release.

    A thread's ordinal is a number in its id; those below `released_to` continue. The status of a
    thread is not changed, so a release restores nothing.
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    workspace_id = models.UUIDField()
    selection = models.JSONField(default=dict, help_text="what the board's filter says; {}: all")
    reason = models.TextField()
    opened_by = models.CharField(max_length=200)
    opened_at = models.DateTimeField(db_default=Now())
    released_to = models.BigIntegerField(db_default=0)
    releases = models.IntegerField(db_default=0)
    released_at = models.DateTimeField(null=True, help_text="the newest release")
    released_by = models.CharField(max_length=200, db_default="", default="", blank=True)
    closed_at = models.DateTimeField(null=True)

    class Meta:
        db_table = "gp_breaker"
        indexes = (
            models.Index(
                fields=("workspace_id",),
                condition=models.Q(closed_at=None),
                name="gp_breaker_open",
            ),
            models.Index(fields=("workspace_id", "-opened_at", "-id"), name="gp_breaker_newest"),
        )


class Backoff(models.Model):
    """A service that asked everybody to wait, by the name of the function, tool or model call."""

    pk = models.CompositePrimaryKey("workspace_id", "name")
    workspace_id = models.UUIDField()
    name = models.CharField(max_length=250)
    until = models.DateTimeField()
    said = models.CharField(max_length=250, default="")

    class Meta:
        db_table = "gp_backoff"


class HotStream(models.Model):
    """A thread of which the hot store may hold steps: from a lease's opening to its last drain.

    `number` is that of the newest checkpoint that the hot store had acknowledged at `reported_at`.
    It is cut off once a person's change passed it while the hot store was away: what it holds is
    dropped.
    """

    thread_id = models.UUIDField(primary_key=True)
    workspace_id = models.UUIDField()
    token = models.UUIDField()
    number = models.IntegerField()
    reported_at = models.DateTimeField(db_default=Now())
    is_cut_off = models.BooleanField(db_default=False)

    class Meta:
        db_table = "gp_hot_stream"


class SetAside(models.Model):
    """A due row whose handling failed in a part of the sweep; tried again at `next_at`."""

    pk = models.CompositePrimaryKey("part", "row_id")
    part = models.CharField(max_length=30)
    row_id = models.UUIDField(help_text="a thread, an approval or news")
    thread_id = models.UUIDField(null=True)
    error = models.TextField()
    attempts = models.IntegerField()
    first_at = models.DateTimeField(db_default=Now())
    next_at = models.DateTimeField()

    class Meta:
        db_table = "gp_set_aside"


class ClockStep(models.Model):
    """A step of the database's clock that a sweeper noticed; `at` is the clock after it."""

    id = models.UUIDField(primary_key=True)
    seconds = models.FloatField(help_text="below 0: the clock went back")
    noticed_by = models.CharField(max_length=200)
    at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "gp_clock_step"


class Duty(models.Model):
    """A lease on a fleet-wide duty, so that one worker at a time does it.

    The sweep; and `folder:<thread>` for each folder that is still to be written.
    """

    name = models.CharField(primary_key=True, max_length=50)
    owner = models.CharField(max_length=200, default="")
    until = models.DateTimeField(null=True)

    class Meta:
        db_table = "gp_duty"


class Watched(models.Model):
    """The thread of the spans of a trace or a conversation; `key` names either."""

    pk = models.CompositePrimaryKey("workspace_id", "key")
    workspace_id = models.UUIDField()
    key = models.CharField(max_length=250)
    thread_id = models.UUIDField()
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "gp_watched"


class SpanExport(models.Model):
    """The last event that an export of spans has read, with counts of spans sent and dropped."""

    name = models.CharField(primary_key=True, max_length=50)
    xid = models.BigIntegerField()
    thread_id = models.UUIDField()
    seq = models.BigIntegerField()
    sent = models.BigIntegerField(db_default=0)
    dropped = models.BigIntegerField(db_default=0)
    moved_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "gp_span_export"


class NodeTime(models.Model):
    """Usual times of the steps and the waits for people of a node, in seconds; a cache."""

    pk = models.CompositePrimaryKey("workspace_id", "agent", "node")
    workspace_id = models.UUIDField()
    agent = models.CharField(max_length=100)
    node = models.CharField(max_length=100)
    n_steps = models.IntegerField(db_default=0)
    step_p50 = models.FloatField(null=True)
    step_p95 = models.FloatField(null=True)
    n_waits = models.IntegerField(db_default=0)
    wait_p50 = models.FloatField(null=True)
    wait_p95 = models.FloatField(null=True)
    learned_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "gp_node_time"


class Stuck(models.Model):
    """A thread that the sweep takes for stuck, as long as it has not moved; a cache.

    It has moved when its status began at another time or, unless `last_seq` is empty, when it has
    another event.
    """

    thread_id = models.UUIDField(primary_key=True)
    workspace_id = models.UUIDField()
    agent = models.CharField(max_length=100)
    node = models.CharField(max_length=100, blank=True)
    rule = models.CharField(max_length=10)
    since = models.DateTimeField()
    reason = models.TextField()
    status_since = models.DateTimeField()
    last_seq = models.BigIntegerField(null=True)
    noted_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "gp_stuck"
        verbose_name_plural = "stuck threads"
        indexes = (models.Index(fields=("workspace_id", "agent", "node"), name="gp_stuck_node"),)
