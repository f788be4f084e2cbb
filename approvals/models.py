"""The tables of floor 1: requests for approval and the verdicts on them."""

from __future__ import annotations

from django.db import models
from django.db.models.functions import Coalesce, Now
from uuid_utils.compat import uuid7

from .deputies.models import Deputy
from .hooks.models import Hook, HookDelivery, HookIdentity
from .incidents.models import (
    Incident,
    IncidentNotice,
    IncidentThread,
    QuietHours,
    Subscription,
)
from .notify.models import Delivery, Endpoint, PushDevice
from .policies.models import SpendCap
from .states import DEFAULT_RISK, STATUSES, VERDICTS, WHAT_NEXT

__all__ = [
    "Approval",
    "DecidedDay",
    "DecidedUntil",
    "Decision",
    "Delivery",
    "Deputy",
    "Endpoint",
    "Hook",
    "HookDelivery",
    "HookIdentity",
    "Incident",
    "IncidentNotice",
    "IncidentThread",
    "News",
    "PushDevice",
    "QuietHours",
    "SpendCap",
    "Subscription",
]


class Names(models.Field):  # type: ignore[type-arg]
    """Names of people and teams; Django's own array field looks for hstore in each connection."""

    def db_type(self, connection: object) -> str:
        return "text[]"


class Approval(models.Model):
    """A request of an agent to people: one proposal at one position of one thread."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    workspace_id = models.UUIDField()
    thread_id = models.UUIDField()
    agent_version_id = models.UUIDField()
    branch = models.IntegerField()
    step = models.IntegerField()
    node = models.CharField(max_length=100)
    index = models.IntegerField(default=0)
    key = models.CharField(max_length=200)
    revision = models.SmallIntegerField(default=0)
    kind = models.CharField(max_length=10)
    tool = models.CharField(max_length=200, blank=True)
    args = models.JSONField()
    proposal_hash = models.CharField(max_length=64)
    policy_version = models.CharField(max_length=100, default="author")
    title = models.CharField(max_length=300)
    description = models.TextField(blank=True)
    reasons = models.JSONField(default=list)
    risk = models.CharField(max_length=10, default=DEFAULT_RISK)
    schema = models.JSONField(null=True)
    undo = models.CharField(max_length=200, blank=True)
    deadline = models.DateTimeField(null=True)
    terms = models.JSONField(null=True)
    # Names the active policies that were asked; whatever differs when it happens is asked again.
    policies = models.CharField(max_length=64, blank=True, db_default="")
    repeats = models.JSONField(null=True)  # of a repeat: what was done before
    sentence = models.CharField(max_length=300, blank=True, db_default="")  # the tool's own
    origin = models.JSONField(null=True)  # of a child's: its parents, from the root down
    # What an edit and an escalation put in the place of args, proposal_hash and deadline.
    standing_args = models.JSONField(null=True)
    standing_hash = models.CharField(max_length=64, blank=True, db_default="")
    decide_by = models.DateTimeField(null=True)
    escalated_at = models.DateTimeField(null=True)
    reminded = models.SmallIntegerField(db_default=0)
    # Who has voted and whose turn it is (counting.Progress), written with each verdict.
    tally = models.JSONField(null=True)
    due_seats = Names(db_default="{}")
    due_except = Names(db_default="{}")
    status = models.CharField(max_length=10, default="pending")
    outcome = models.CharField(max_length=10, blank=True)
    what_next = models.CharField(max_length=10, blank=True, db_default="")
    comment = models.TextField(blank=True)
    decided_by = models.CharField(max_length=200, blank=True)
    decided_by_name = models.CharField(max_length=200, blank=True)
    decided_at = models.DateTimeField(null=True)
    decided_args = models.JSONField(null=True)
    effective_at = models.DateTimeField(null=True)
    requested_at = models.DateTimeField(db_default=Now())
    imported = models.BooleanField(db_default=False)

    class Meta:
        db_table = "gp_approval"
        constraints = (
            models.UniqueConstraint(
                fields=("thread_id", "branch", "step", "node", "index", "key", "revision"),
                name="gp_approval_position",
            ),
            models.CheckConstraint(
                condition=models.Q(status__in=STATUSES), name="gp_approval_status"
            ),
            models.CheckConstraint(
                condition=models.Q(what_next__in=WHAT_NEXT), name="gp_approval_what_next"
            ),
            models.CheckConstraint(
                condition=models.Q(status="pending") | models.Q(due_seats="{}"),
                name="gp_approval_nobody_due",
            ),
        )
        indexes = (
            models.Index(
                fields=("workspace_id", "requested_at", "id"),
                name="gp_approval_open",
                condition=models.Q(status="pending"),
            ),
            models.Index(fields=("workspace_id", "-requested_at", "-id"), name="gp_approval_all"),
            models.Index(
                fields=("effective_at",),
                name="gp_approval_held",
                condition=models.Q(status="held"),
            ),
            models.Index(
                Coalesce("decide_by", "deadline"),
                name="gp_approval_due",
                condition=models.Q(status="pending"),
            ),
        )


class Decision(models.Model):
    """One reviewer's verdict on one approval; never updated, never deleted."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    workspace_id = models.UUIDField()
    approval = models.ForeignKey(Approval, models.PROTECT, related_name="+")
    reviewer = models.CharField(max_length=200)
    reviewer_name = models.CharField(max_length=200)
    verdict = models.CharField(max_length=10)
    proposal_hash = models.CharField(max_length=64)
    comment = models.TextField(blank=True)
    args = models.JSONField(null=True)
    what_next = models.CharField(max_length=10, blank=True, db_default="")
    for_person = models.CharField(max_length=200, blank=True, db_default="")  # the deputy's
    salt = models.BinaryField()
    hash = models.BinaryField()
    at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "gp_decision"
        constraints = (
            models.CheckConstraint(
                condition=models.Q(verdict__in=VERDICTS), name="gp_decision_verdict"
            ),
        )


class DecidedDay(models.Model):
    """Decisions of a day (UTC) by agent, verdict and person: how many, and seconds waited for each.

    A cache: decisions never change. `waits` leaves out answers, what was taken back, and verdicts
    of scripts and tokens.
    """

    pk = models.CompositePrimaryKey("workspace_id", "day", "agent", "verdict", "person")
    workspace_id = models.UUIDField()
    day = models.DateField()
    agent = models.CharField(max_length=100)
    verdict = models.CharField(max_length=10)
    person = models.CharField(max_length=200)
    name = models.CharField(max_length=200)
    n = models.IntegerField()
    waits = models.JSONField()

    class Meta:
        db_table = "gp_decided_day"


class DecidedUntil(models.Model):
    """The first day of a workspace whose decisions are not in DecidedDay."""

    workspace_id = models.UUIDField(primary_key=True)
    day = models.DateField()

    class Meta:
        db_table = "gp_decided_until"


class Look(models.Model):
    """The first time that a person opened a request; never updated, never deleted."""

    pk = models.CompositePrimaryKey("approval_id", "person")
    workspace_id = models.UUIDField()
    approval_id = models.UUIDField()
    person = models.CharField(max_length=200)
    at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "gp_approval_look"


class News(models.Model):
    """A notification to send, written with the change that it reports: the outbox.

    `done_at` is set once everybody who wanted it has a delivery of their own.
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    workspace_id = models.UUIDField()
    kind = models.CharField(max_length=40)
    thread_id = models.UUIDField(null=True)  # of a workspace's own record there is none
    checkpoint_id = models.UUIDField(null=True)
    approval_id = models.UUIDField(null=True)
    incident_id = models.UUIDField(null=True)
    data = models.JSONField(default=dict)
    at = models.DateTimeField(db_default=Now())
    done_at = models.DateTimeField(null=True)

    class Meta:
        db_table = "gp_outbox"
        verbose_name_plural = "news"
        indexes = (
            models.Index(
                fields=("at", "id"), name="gp_outbox_open", condition=models.Q(done_at=None)
            ),
            models.Index(fields=("thread_id",), name="gp_outbox_thread"),
            models.Index(
                fields=("approval_id",),
                name="outbox_of_request",
                condition=models.Q(approval_id__isnull=False),
            ),
            models.Index(
                fields=("incident_id",),
                name="outbox_incident",
                condition=~models.Q(incident_id=None),
            ),
        )


class Policy(models.Model):
    """A rule of a workspace by its name; what it says stands in its newest version.

    The first one, by position, whose condition holds decides. Policies are switched off, never
    deleted: requests and the log name them.
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    workspace_id = models.UUIDField()
    name = models.CharField(max_length=100)
    position = models.IntegerField()
    active = models.BooleanField(default=True)
    number = models.IntegerField(default=1)

    class Meta:
        db_table = "gp_policy"
        verbose_name_plural = "policies"
        constraints = (
            models.UniqueConstraint(fields=("workspace_id", "name"), name="gp_policy_name"),
        )
        indexes = (models.Index(fields=("workspace_id", "position", "id"), name="gp_policy_order"),)


class PolicyVersion(models.Model):
    """A policy's content from a time on; never changed. `deadline` counts seconds to decide."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    workspace_id = models.UUIDField()
    # The unique constraint begins with it.
    policy = models.ForeignKey(Policy, models.PROTECT, related_name="+", db_index=False)
    number = models.IntegerField()
    condition = models.TextField()
    action = models.CharField(max_length=10)
    terms = models.JSONField()
    deadline = models.FloatField(null=True)
    risk = models.CharField(max_length=10, blank=True)
    title = models.CharField(max_length=300, blank=True)
    note = models.TextField(blank=True)
    made_by = models.CharField(max_length=200)
    made_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "gp_policy_version"
        constraints = (
            models.UniqueConstraint(fields=("policy", "number"), name="gp_policy_version_number"),
            models.CheckConstraint(
                condition=models.Q(action__in=("ask", "allow", "block")),
                name="gp_policy_version_action",
            ),
        )


class SpendReservation(models.Model):
    """The cost reserved for a call under way; counts until its lease or its step ends."""

    pk = models.CompositePrimaryKey("thread_id", "position")
    thread_id = models.UUIDField()
    position = models.CharField(max_length=400)
    workspace_id = models.UUIDField()
    lease_token = models.UUIDField()
    step = models.IntegerField()
    cost = models.DecimalField(max_digits=18, decimal_places=6)
    tokens = models.BigIntegerField()

    class Meta:
        db_table = "gp_spend_reservation"


class CarriedOut(models.Model):
    """The outcome of an approved operation: one row per approval, so it is done at most once."""

    approval = models.OneToOneField(
        Approval, models.PROTECT, primary_key=True, related_name="+", db_column="approval_id"
    )
    workspace_id = models.UUIDField()
    outcome = models.CharField(max_length=10)
    said = models.TextField(blank=True)
    at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "gp_carried_out"
        verbose_name_plural = "carried out"
        constraints = (
            models.CheckConstraint(
                condition=models.Q(outcome__in=("done", "failed")), name="gp_carried_out_outcome"
            ),
        )
