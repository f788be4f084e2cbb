"""The tables of notifications: who wants which news where, and the outcome of each delivery."""

from __future__ import annotations

from django.db import models
from django.db.models.functions import Now
from uuid_utils.compat import uuid7

from .channels.kinds import KINDS


class Endpoint(models.Model):
    """A place of one workspace that wants news.

    `address` is where it goes and may hold a secret (a chat's URL): it is ciphertext, and only
    `target`, its beginning, is ever shown. `secrets` sign a webhook's messages, newest first:
    [{secret, since, until}], of which `secret` is ciphertext.
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    workspace_id = models.UUIDField()
    kind = models.CharField(max_length=10)
    name = models.CharField(max_length=100)
    target = models.CharField(max_length=200, blank=True, default="")
    address = models.TextField(blank=True, default="")
    secrets = models.JSONField(default=list)
    events = models.JSONField(default=list)
    digest = models.SmallIntegerField(default=0, help_text="minutes")
    people = models.JSONField(default=list)
    teams = models.JSONField(default=list)
    active = models.BooleanField(default=True)
    made_by = models.CharField(max_length=200)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "gp_endpoint"
        constraints = (
            models.UniqueConstraint(fields=("workspace_id", "name"), name="gp_endpoint_name"),
            models.CheckConstraint(condition=models.Q(kind__in=KINDS), name="gp_endpoint_kind"),
        )

    def __str__(self) -> str:
        return self.name


class PushDevice(models.Model):
    """A browser of a person that takes web push: where its push service is, and its keys.

    Address and keys are ciphertext; `target` is the part of the address that may be shown.
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    workspace_id = models.UUIDField()
    person = models.CharField(max_length=200)
    name = models.CharField(max_length=100)
    target = models.CharField(max_length=200)
    address = models.TextField()
    p256dh = models.TextField()
    auth = models.TextField()
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "gp_push_device"
        indexes = (models.Index(fields=("workspace_id", "person"), name="gp_push_device_person"),)


class Delivery(models.Model):
    """One news for one recipient through one endpoint.

    Open until `done_at` or `failed_at`. `claim` is that of the sender who is at it, until
    `claimed_until`. Deliveries with the same `parcel` went out as one message. `skipped` says why
    nothing had to be sent.
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    workspace_id = models.UUIDField()
    # Indexes below begin with it.
    endpoint = models.ForeignKey(Endpoint, models.PROTECT, related_name="+", db_index=False)
    news_id = models.UUIDField()
    kind = models.CharField(max_length=40)
    recipient = models.CharField(max_length=254, blank=True, default="")
    webhook_id = models.CharField(max_length=40)
    attempts = models.SmallIntegerField(default=0)
    next_at = models.DateTimeField(db_default=Now())
    claim = models.UUIDField(null=True)
    claimed_until = models.DateTimeField(null=True)
    parcel = models.UUIDField(null=True)
    code = models.SmallIntegerField(null=True)
    error = models.CharField(max_length=300, blank=True, default="")
    skipped = models.CharField(max_length=100, blank=True, default="")
    created_at = models.DateTimeField(db_default=Now())
    done_at = models.DateTimeField(null=True)
    failed_at = models.DateTimeField(null=True)

    class Meta:
        db_table = "gp_delivery"
        verbose_name_plural = "deliveries"
        constraints = (
            models.UniqueConstraint(
                fields=("news_id", "endpoint", "recipient"), name="gp_delivery_once"
            ),
        )
        indexes = (
            models.Index(
                fields=("endpoint", "next_at"),
                name="gp_delivery_open",
                condition=models.Q(done_at=None, failed_at=None),
            ),
            models.Index(fields=("endpoint", "recipient", "done_at"), name="gp_delivery_sent"),
            models.Index(
                fields=("claim",), name="gp_delivery_claim", condition=~models.Q(claim=None)
            ),
            models.Index(fields=("workspace_id", "id"), name="gp_delivery_place"),
            models.Index(fields=("endpoint", "id"), name="gp_delivery_newest"),
            models.Index(
                fields=("endpoint", "failed_at"),
                name="gp_delivery_failed",
                condition=~models.Q(failed_at=None),
            ),
            models.Index(
                fields=("endpoint", "id"), name="gp_delivery_error", condition=~models.Q(error="")
            ),
        )
