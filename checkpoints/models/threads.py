"""Who and what works: workspaces, agent versions, and the threads whose rows a step updates."""

from __future__ import annotations

from django.conf import settings
from django.contrib.postgres.functions import RandomUUID
from django.db import models
from django.db.models import Value
from django.db.models.functions import Now
from uuid_utils.compat import uuid7

from ..states import ROLES, Status


class Workspace(models.Model):
    """The tenant; every row of the product belongs to one. Its own log says who may do what."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    name = models.CharField(max_length=100, unique=True)
    created_at = models.DateTimeField(db_default=Now())
    second_factor_roles = models.JSONField(
        db_default=Value([], models.JSONField()),
        default=list,
        help_text="roles that need a second factor beside a password",
    )
    # The tail of the workspace's own hash chain, as a thread has one.
    chain_id = models.UUIDField(db_default=RandomUUID(), editable=False)
    last_seq = models.BigIntegerField(db_default=0)
    last_hash = models.BinaryField(db_default=Value(bytes(32)))
    prev_hash = models.BinaryField(db_default=Value(b""))
    last_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "gp_workspace"

    def __str__(self) -> str:
        return self.name


class Membership(models.Model):
    """One role of one user in one workspace; rights are rows, so withdrawing one is immediate."""

    # The unique constraint begins with it.
    workspace = models.ForeignKey(Workspace, models.PROTECT, related_name="+", db_index=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+")
    role = models.CharField(max_length=20, choices=[(r, r) for r in ROLES])

    class Meta:
        db_table = "gp_membership"
        constraints = (
            models.UniqueConstraint(fields=("workspace", "user", "role"), name="gp_member_once"),
            models.CheckConstraint(condition=models.Q(role__in=ROLES), name="gp_member_role"),
        )

    def __str__(self) -> str:
        return f"{self.user}, {self.role} in {self.workspace}"


class WorkspaceEvent(models.Model):
    """One immutable entry of a workspace's log: who belongs to it and who was given which right."""

    pk = models.CompositePrimaryKey("workspace_id", "seq")
    workspace = models.ForeignKey(Workspace, models.PROTECT, related_name="+", db_index=False)
    seq = models.BigIntegerField()
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
        db_table = "gp_workspace_event"


class AgentVersion(models.Model):
    """One version of an agent as a worker announced it; immutable, readable without its code."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    agent = models.CharField(max_length=100)
    version = models.PositiveIntegerField()
    fingerprint = models.CharField(max_length=64, help_text="sha256 over modules, graph, schema")
    label = models.CharField(max_length=200)
    description = models.TextField(blank=True)
    schema_version = models.PositiveIntegerField(default=1)
    schema = models.JSONField(help_text="JSON Schema of the state")
    channels = models.JSONField(help_text="{channel: {reducer, default}}")
    graph = models.JSONField(help_text="{entry, nodes: [{name, then, label, gate}]}")
    tools = models.JSONField(help_text="{tool: {schema, effect, idempotent, undo}}")
    queue = models.CharField(max_length=100, default="gatepost")
    created_at = models.DateTimeField(db_default=Now())
    code = models.JSONField(
        null=True, help_text="{parts: [{file, name, digest, text}], packages, former}"
    )
    imported_into = models.UUIDField(
        null=True, help_text="the workspace whose capsule brought it; no worker announced it then"
    )

    class Meta:
        db_table = "gp_agent_version"
        constraints = (
            # What a capsule says of an agent stands in no worker's way.
            models.UniqueConstraint(
                fields=("agent", "version", "fingerprint"),
                condition=models.Q(imported_into=None),
                name="gp_agent_version_once",
            ),
        )


class AgentAnnouncement(models.Model):
    """A worker has the very agent version that a capsule brought before; immutable."""

    agent_version = models.OneToOneField(
        AgentVersion, models.PROTECT, primary_key=True, related_name="+"
    )
    label = models.CharField(max_length=200)
    description = models.TextField(blank=True)
    queue = models.CharField(max_length=100)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "gp_agent_announcement"


class Thread(models.Model):
    """One execution of an agent: the only row that a step updates.

    No index contains a column that a step changes, so a step's UPDATE stays heap-only; but for the
    step of an agent that writes a searchable channel.
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    # Three indexes below begin with it.
    workspace = models.ForeignKey(Workspace, models.PROTECT, related_name="+", db_index=False)
    agent_version = models.ForeignKey(AgentVersion, models.PROTECT, related_name="+")
    agent = models.CharField(max_length=100)
    name = models.CharField(max_length=255, null=True, blank=True)
    title = models.CharField(max_length=300)
    automatic_title = models.CharField(
        max_length=300, db_default="", help_text="the agent may replace the title while it is this"
    )
    labels = models.JSONField(default=dict)
    queue = models.CharField(max_length=100)
    status = models.CharField(max_length=20, default=Status.QUEUED)
    status_since = models.DateTimeField(db_default=Now())
    status_reason = models.TextField(default="", blank=True)
    waiting_on = models.JSONField(null=True)
    wake_at = models.DateTimeField(null=True)
    wake_seq = models.BigIntegerField(default=0)
    wish = models.CharField(max_length=20, default="", blank=True)
    wish_by = models.CharField(max_length=200, default="", blank=True)
    pause_at = models.CharField(max_length=100, default="", blank=True)
    pinned = models.BooleanField(db_default=False, help_text="no other code may take it")
    effects = models.CharField(max_length=10, default="run")
    # Where the head stands; repeated here so that lists and leases need no second table.
    head = models.UUIDField()
    number = models.IntegerField(default=0)
    step = models.IntegerField(default=0)
    branch = models.IntegerField(default=0)
    branch_start = models.IntegerField(default=0)
    next_nodes = models.JSONField(default=list)
    state_bytes = models.BigIntegerField(default=0)
    version = models.BigIntegerField(default=1)
    # The tail of the hash chain. One statement writes events and moves this row: last_at is their
    # time, prev_hash the hashes before each of them, 32 bytes apiece.
    chain_id = models.UUIDField()
    last_seq = models.BigIntegerField(default=0)
    last_hash = models.BinaryField()
    prev_hash = models.BinaryField()
    last_at = models.DateTimeField(db_default=Now())
    lease_owner = models.CharField(max_length=200, default="", blank=True)
    lease_token = models.UUIDField(null=True)
    lease_until = models.DateTimeField(null=True)
    fence = models.BigIntegerField(default=0)
    crash_count = models.SmallIntegerField(default=0)
    started_by = models.CharField(max_length=200)
    parent = models.UUIDField(null=True)
    # The first of its family tree and how far below it this one is; none and 0 of that one itself.
    root = models.UUIDField(null=True)
    depth = models.SmallIntegerField(db_default=0)
    base = models.UUIDField(null=True)
    forked_from = models.UUIDField(null=True)
    # Up to here (event, checkpoint) the past was written by another installation.
    imported_seq = models.BigIntegerField(db_default=0)
    imported_number = models.IntegerField(db_default=-1)
    rollback = models.JSONField(null=True, help_text="the plan while status is rolling_back")
    n_steps = models.BigIntegerField(default=0)
    tokens = models.BigIntegerField(default=0)
    cost = models.DecimalField(max_digits=18, decimal_places=6, default=0)
    tokens_saved = models.BigIntegerField(default=0)
    created_at = models.DateTimeField(db_default=Now())
    # The erasure that has closed it: nothing is written to it any more.
    erasure = models.UUIDField(null=True)
    searchable = models.JSONField(null=True, help_text="{channel: value} of searchable channels")
    # Counts while it is queued: each status that follows begins later.
    moved_up_at = models.DateTimeField(null=True)

    class Meta:
        db_table = "gp_thread"
        constraints = (
            models.UniqueConstraint(fields=("workspace", "agent", "name"), name="gp_thread_name"),
        )
        indexes = (
            models.Index(fields=("workspace", "-status_since", "-id"), name="gp_thread_since"),
            models.Index(
                fields=("workspace", "status", "-status_since", "-id"), name="gp_thread_board"
            ),
            models.Index(
                fields=("queue", "status_since"),
                name="gp_thread_queue",
                condition=models.Q(status__in=("queued", "rolling_back", "running")),
            ),
            models.Index(
                fields=("queue", "workspace", "status_since"),
                name="gp_thread_turn",
                condition=models.Q(status="queued"),
            ),
            models.Index(
                fields=("queue", "workspace", "-moved_up_at"),
                name="gp_thread_moved_up",
                condition=models.Q(status="queued", moved_up_at__gte=models.F("status_since")),
            ),
            models.Index(
                fields=("wake_at",), name="gp_thread_wake", condition=models.Q(status="sleeping")
            ),
            models.Index(
                fields=("forked_from",),
                name="gp_thread_forks",
                condition=models.Q(forked_from__isnull=False),
            ),
            models.Index(
                fields=("erasure",),
                name="gp_thread_erasure",
                condition=models.Q(erasure__isnull=False),
            ),
        )


class Child(models.Model):
    """A thread that another one started: what its parent has to know of it without looking at it.

    `hold` is empty without a limit, `held` until it may begin, then `released`, and `passed` once
    another one may begin for it. `outcome` is the status in which it ended, empty before.
    `awaited` numbers the join of the parent that waits for it. `successor` is the thread that it
    handed over to, which has taken its place here.
    """

    child = models.OneToOneField(
        Thread, models.DO_NOTHING, primary_key=True, db_constraint=False, related_name="+"
    )
    workspace_id = models.UUIDField()
    parent = models.UUIDField()
    fan_out = models.UUIDField(help_text="the activity that started it, with others")
    ordinal = models.IntegerField(help_text="its place among those of the fan-out")
    hold = models.CharField(max_length=10, db_default="", blank=True)
    outcome = models.CharField(max_length=20, db_default="", blank=True)
    awaited = models.SmallIntegerField(null=True)
    successor = models.UUIDField(null=True)

    class Meta:
        db_table = "gp_child"
        verbose_name_plural = "children"
        indexes = (
            models.Index(
                fields=("fan_out", "ordinal"),
                name="gp_child_held",
                condition=models.Q(hold="held"),
            ),
            models.Index(
                fields=("parent", "awaited", "outcome"),
                name="gp_child_awaited",
                condition=models.Q(awaited__isnull=False),
            ),
        )


class LastVerification(models.Model):
    """The result of the last verification of a record, and since when the record is damaged.

    `checks` names what was looked at (`chain.verify.CHECKS`): damage is cleared only by a
    verification that looks at least at what the one did that found it.
    """

    n_events = models.BigIntegerField()
    intact = models.BooleanField()
    broken_seq = models.BigIntegerField(null=True)
    what = models.TextField(default="", blank=True)
    checked_by = models.CharField(max_length=200)
    checked_at = models.DateTimeField(db_default=Now())
    checks = models.JSONField(db_default=Value([], models.JSONField()))
    found_at = models.DateTimeField(null=True)
    found_by = models.CharField(max_length=200, db_default="", blank=True)

    class Meta:
        abstract = True


class Verification(LastVerification):
    """The last verification of a thread; also of one that is gone and has left rows behind."""

    thread = models.OneToOneField(
        Thread, models.DO_NOTHING, primary_key=True, db_constraint=False, related_name="+"
    )
    workspace_id = models.UUIDField(null=True)

    class Meta:
        db_table = "gp_verification"
        indexes = (
            models.Index(
                fields=("workspace_id", "found_at"),
                name="gp_verification_damaged",
                condition=models.Q(intact=False),
            ),
        )


class WorkspaceVerification(LastVerification):
    """The last verification of a workspace's own log, and of everything in it.

    `n_verified` events of its threads and its log were verified when everything was, by
    `completed_at`.
    """

    workspace = models.OneToOneField(
        Workspace, models.DO_NOTHING, primary_key=True, db_constraint=False, related_name="+"
    )
    n_verified = models.BigIntegerField(db_default=0)
    completed_at = models.DateTimeField(null=True)

    class Meta:
        db_table = "gp_workspace_verification"
