"""The tables of incidents: what is wrong with which threads, and who wants to hear of it."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from django.db import models
from django.db.models.functions import Now
from uuid_utils.compat import uuid7

from ..notify.texts.incident_kinds import TROUBLES


class Incident(models.Model):
    """Threads of one agent in the same trouble, as one row; open until `closed_at`.

    `threads` counts all that ever were part of it, `affected` those that still are in trouble.
    `labels` are those of them ("key=value") that a subscription names.
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    workspace_id = models.UUIDField()
    agent = models.CharField(max_length=100, blank=True)
    kind = models.CharField(max_length=30)
    fingerprint = models.CharField(max_length=32)
    reason = models.TextField(help_text="of the first thread")
    labels = models.JSONField(db_default=[], default=list)
    threads = models.IntegerField(db_default=0)
    affected = models.IntegerField(db_default=0)
    opened_at = models.DateTimeField(db_default=Now())
    last_at = models.DateTimeField(db_default=Now(), help_text="when the newest thread joined")
    taken_by = models.CharField(max_length=200, db_default="", default="", blank=True)
    taken_at = models.DateTimeField(null=True)
    snoozed_until = models.DateTimeField(null=True)
    snoozed_by = models.CharField(max_length=200, db_default="", default="", blank=True)
    closed_at = models.DateTimeField(null=True)
    closed_by = models.CharField(max_length=200, db_default="", default="", blank=True)
    close_reason = models.TextField(db_default="", default="", blank=True)

    class Meta:
        db_table = "gp_incident"
        constraints = (
            models.UniqueConstraint(
                fields=("workspace_id", "agent", "kind", "fingerprint"),
                name="gp_incident_open",
                condition=models.Q(closed_at=None),
            ),
            models.CheckConstraint(condition=models.Q(kind__in=TROUBLES), name="gp_incident_kind"),
        )
        indexes = (
            models.Index(fields=("workspace_id", "-opened_at", "-id"), name="gp_incident_list"),
        )


class IncidentThread(models.Model):
    """One thread of an incident; of an open breaker or a damaged log of a workspace, that one.

    `since` is when its trouble began: a thread that fails again has another one. It stands in
    trouble until `left_at`.
    """

    pk = models.CompositePrimaryKey("incident_id", "subject_id")
    incident_id = models.UUIDField()
    subject_id = models.UUIDField(help_text="a thread, a breaker or a workspace")
    workspace_id = models.UUIDField()
    kind = models.CharField(max_length=30)
    reason = models.TextField()
    since = models.DateTimeField()
    joined_at = models.DateTimeField(db_default=Now())
    left_at = models.DateTimeField(null=True)

    class Meta:
        db_table = "gp_incident_thread"
        indexes = (
            models.Index(fields=("subject_id", "kind", "since"), name="gp_incident_subject"),
            models.Index(fields=("workspace_id", "kind", "-since"), name="gp_incident_since"),
            models.Index(fields=("incident_id", "-joined_at"), name="gp_incident_newest"),
            models.Index(
                fields=("incident_id", "subject_id"),
                name="gp_incident_affected",
                condition=models.Q(left_at=None),
            ),
        )


class Subscription(models.Model):
    """Kinds of incidents of which one person or team gets news, and the endpoint that sends it.

    No `agent`, no `label`: of all. `kinds` may be empty: such a one only gets what others escalate
    to it, `escalate_minutes` after they heard of an incident that nobody has taken.
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    workspace_id = models.UUIDField()
    person = models.CharField(max_length=200, blank=True, default="", help_text="user:7")
    team = models.CharField(max_length=150, blank=True, default="")
    endpoint = models.ForeignKey("approvals.Endpoint", models.PROTECT, related_name="+")
    kinds = models.JSONField(default=list)
    agent = models.CharField(max_length=100, blank=True, default="")
    label = models.CharField(max_length=200, blank=True, default="", help_text="key=value")
    urgent = models.BooleanField(default=False, help_text="during quiet hours as well")
    escalate_to = models.ForeignKey("self", models.PROTECT, null=True, related_name="+")
    escalate_minutes = models.IntegerField(default=0)
    made_by = models.CharField(max_length=200)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "gp_subscription"
        constraints = (
            models.CheckConstraint(
                condition=~models.Q(person="", team=""), name="gp_subscription_whose"
            ),
        )
        indexes = (models.Index(fields=("workspace_id", "id"), name="gp_subscription_place"),)


class IncidentNotice(models.Model):
    """The newest message of an incident to a subscription; `threads` were in it then."""

    pk = models.CompositePrimaryKey("incident_id", "subscription_id")
    incident_id = models.UUIDField()
    subscription_id = models.UUIDField()
    threads = models.IntegerField()
    first_at = models.DateTimeField(db_default=Now())
    last_at = models.DateTimeField(db_default=Now())
    escalated_at = models.DateTimeField(null=True)

    class Meta:
        db_table = "gp_incident_notice"


class QuietHours(models.Model):
    """The hours of each day in which news of incidents waits for a person.

    From `begins` to `ends` by the clock of `zone`, past midnight where `ends` is earlier.
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    workspace_id = models.UUIDField()
    person = models.CharField(max_length=200)
    begins = models.TimeField()
    ends = models.TimeField()
    zone = models.CharField(max_length=50)

    class Meta:
        db_table = "gp_quiet_hours"
        verbose_name_plural = "quiet hours"
        constraints = (
            models.UniqueConstraint(fields=("workspace_id", "person"), name="gp_quiet_hours_once"),
        )

    def end_after(self, now: datetime) -> datetime | None:
        """The end of the quiet hours that hold at this moment; None outside of them.

        Where a clock is put back they last from the first `begins` to the second `ends`; a time
        that a clock put forward leaves out counts by the clock before.
        """
        zone = ZoneInfo(self.zone)
        today = now.astimezone(zone).date()
        for day in (today - timedelta(days=1), today):
            last = day if self.begins < self.ends else day + timedelta(days=1)
            # Compared in UTC: times of one time zone compare by what their clocks show.
            begin = datetime.combine(day, self.begins, tzinfo=zone).astimezone(UTC)
            end = _second(last, self.ends, zone)
            if begin <= now.astimezone(UTC) < end:
                return end
        return None


def _second(day: date, clock: time, zone: ZoneInfo) -> datetime:
    """The instant at which a clock shows a time on a day; the second where it does so twice."""
    first, second = (datetime.combine(day, clock.replace(fold=n), tzinfo=zone) for n in (0, 1))
    return max(first.astimezone(UTC), second.astimezone(UTC))
