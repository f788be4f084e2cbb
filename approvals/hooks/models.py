"""The tables of inbound hooks: who outside may carry decisions here, for whom, and what came.

A hook's secrets are stored as ciphertext: a signature can be checked with nothing less than them.
"""

from __future__ import annotations

from django.db import models
from django.db.models.functions import Now
from uuid_utils.compat import uuid7


class Hook(models.Model):
    """A service outside that signs what it sends.

    `secrets` is a list of {"secret": ciphertext, "until": ISO time or null}, the newest first; all
    that have not ended hold. `refused` counts, once a minute at most, what was turned away.
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    workspace_id = models.UUIDField()
    name = models.CharField(max_length=40)
    secrets = models.JSONField(default=list)
    active = models.BooleanField(db_default=True)
    made_by = models.CharField(max_length=200)
    created_at = models.DateTimeField(db_default=Now())
    rotated_at = models.DateTimeField(null=True)
    refused_at = models.DateTimeField(null=True)
    refused = models.BigIntegerField(db_default=0)

    class Meta:
        db_table = "gp_hook"
        constraints = (
            models.UniqueConstraint(fields=("workspace_id", "name"), name="gp_hook_name"),
        )

    def __str__(self) -> str:
        return self.name


class HookIdentity(models.Model):
    """Whom a hook's word for a person stands for here; it counts once that person confirmed it.

    `confirmed_by` is empty until then, and "before" where the word counted before this was asked.
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    workspace_id = models.UUIDField()
    # The unique constraint begins with it.
    hook = models.ForeignKey(Hook, models.PROTECT, related_name="+", db_index=False)
    identity = models.CharField(max_length=200)
    user_id = models.BigIntegerField()
    made_by = models.CharField(max_length=200)
    created_at = models.DateTimeField(db_default=Now())
    confirmed_by = models.CharField(max_length=200, blank=True, db_default="")

    class Meta:
        db_table = "gp_hook_identity"
        verbose_name = "outside identity"
        verbose_name_plural = "outside identities"
        constraints = (
            models.UniqueConstraint(fields=("hook", "identity"), name="gp_hook_identity_once"),
        )


class HookDelivery(models.Model):
    """A delivery of a hook under one id, and our response to it; never changed."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    workspace_id = models.UUIDField()
    # The unique constraint begins with it.
    hook = models.ForeignKey(Hook, models.PROTECT, related_name="+", db_index=False)
    webhook_id = models.CharField(max_length=255)
    body_hash = models.BinaryField(help_text="keyed digest of the body as it came")
    approval_id = models.UUIDField()
    actor = models.CharField(max_length=200)
    status = models.SmallIntegerField()
    answer = models.TextField(help_text="the JSON text that was answered")
    at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "gp_hook_delivery"
        verbose_name_plural = "hook deliveries"
        constraints = (
            models.UniqueConstraint(fields=("hook", "webhook_id"), name="gp_hook_delivery_once"),
        )
