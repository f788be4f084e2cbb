"""Erasure: requests for it, what was left of each erased thread, legal holds, retention rules."""

from __future__ import annotations

from django.db import models
from django.db.models.functions import Now
from uuid_utils.compat import uuid7


class Erasure(models.Model):
    """A request to erase threads, who decided it, and what it came to.

    `requested -> approved -> done`, or `refused`. `selection` is a hash over the ids of the threads
    that are meant: a decision holds for exactly those. One that a retention rule made has `rule`
    and no second person.
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    workspace_id = models.UUIDField()
    thread_id = models.UUIDField()
    scope = models.CharField(max_length=10)
    n_threads = models.IntegerField()
    selection = models.CharField(max_length=64)
    reason = models.TextField()
    rule = models.UUIDField(null=True)
    state = models.CharField(max_length=10, default="requested")
    requested_by = models.CharField(max_length=200)
    requested_by_name = models.CharField(max_length=200)
    requested_at = models.DateTimeField(db_default=Now())
    decided_by = models.CharField(max_length=200, blank=True, default="")
    decided_by_name = models.CharField(max_length=200, blank=True, default="")
    decided_at = models.DateTimeField(null=True)
    comment = models.TextField(blank=True, default="")
    finished_at = models.DateTimeField(null=True)
    n_rows = models.BigIntegerField(default=0)
    n_bytes = models.BigIntegerField(default=0)
    n_files = models.IntegerField(default=0)

    class Meta:
        db_table = "gp_erasure"
        constraints = (
            models.CheckConstraint(
                condition=models.Q(state__in=("requested", "approved", "done", "refused")),
                name="gp_erasure_state",
            ),
            models.CheckConstraint(
                condition=models.Q(scope__in=("thread", "family")), name="gp_erasure_scope"
            ),
            # Four eyes also for who writes past the product; a rule was decided when it was made.
            models.CheckConstraint(
                condition=~models.Q(state__in=("approved", "done"))
                | models.Q(rule__isnull=False)
                | (~models.Q(decided_by="") & ~models.Q(decided_by=models.F("requested_by"))),
                name="gp_erasure_four_eyes",
            ),
        )
        indexes = (
            models.Index(fields=("workspace_id", "-requested_at", "-id"), name="gp_erasure_newest"),
            models.Index(
                fields=("state",),
                name="gp_erasure_open",
                condition=models.Q(state__in=("requested", "approved")),
            ),
        )


class Erased(models.Model):
    """The rest of a thread whose content was erased; its id is the thread's.

    `remains` is a hash over the rows that are left, so that verification finds what is altered
    later.
    """

    id = models.UUIDField(primary_key=True, editable=False)
    workspace_id = models.UUIDField()
    erasure_id = models.UUIDField()
    remains = models.CharField(max_length=64)
    n_rows = models.BigIntegerField()
    n_bytes = models.BigIntegerField()
    erased_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "gp_erased"
        verbose_name = "erased thread"
        indexes = (models.Index(fields=("erasure_id",), name="gp_erased_erasure"),)


class ErasureFile(models.Model):
    """A file of an erased thread that is to be deleted; the rows go once the erasure is done.

    `path` is a folder of a thread where `sha256` is empty, else a file that others may refer to.
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    erasure_id = models.UUIDField()
    workspace_id = models.UUIDField()
    path = models.CharField(max_length=500)
    sha256 = models.CharField(max_length=64, blank=True, default="")
    removed_at = models.DateTimeField(null=True)
    n_removed = models.IntegerField(default=0)

    class Meta:
        db_table = "gp_erasure_file"
        indexes = (models.Index(fields=("erasure_id",), name="gp_erasure_file_erasure"),)


class Hold(models.Model):
    """A legal hold: while it is set nothing of the thread is erased."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    workspace_id = models.UUIDField()
    thread_id = models.UUIDField()
    reason = models.TextField()
    set_by = models.CharField(max_length=200)
    set_at = models.DateTimeField(db_default=Now())
    lifted_by = models.CharField(max_length=200, blank=True, default="")
    lifted_at = models.DateTimeField(null=True)
    lift_reason = models.TextField(blank=True, default="")

    class Meta:
        db_table = "gp_hold"
        constraints = (
            models.UniqueConstraint(
                fields=("thread_id",),
                name="gp_hold_once",
                condition=models.Q(lifted_at=None),
            ),
        )
        indexes = (models.Index(fields=("workspace_id", "-set_at", "-id"), name="gp_hold_newest"),)


class RetentionRule(models.Model):
    """Days from the end of an agent's thread to its erasure; `agent` is empty for all others.

    `archive`: a capsule of it is put into the file store first.
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    workspace_id = models.UUIDField()
    agent = models.CharField(max_length=100, blank=True, default="")
    days = models.IntegerField()
    archive = models.BooleanField(default=False)
    active = models.BooleanField(default=True)
    set_by = models.CharField(max_length=200)
    set_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "gp_retention_rule"
        constraints = (
            models.UniqueConstraint(fields=("workspace_id", "agent"), name="gp_retention_once"),
            models.CheckConstraint(condition=models.Q(days__gte=1), name="gp_retention_floor"),
        )
