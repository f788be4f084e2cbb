"""The tables of outgoing anchors, of the installation as a whole."""

from __future__ import annotations

from django.db import models
from django.db.models.functions import Now


class Anchor(models.Model):
    """The ends of logs that have moved since the anchor before; never changed.

    `at` is microseconds since 1970; `xid`, `thread_id` and `seq` are the last event that it saw.
    """

    number = models.BigIntegerField(primary_key=True)
    at = models.BigIntegerField()
    previous = models.BinaryField()
    heads = models.JSONField()
    heads_hash = models.BinaryField()
    hash = models.BinaryField()
    xid = models.BigIntegerField()
    thread_id = models.UUIDField()
    seq = models.BigIntegerField()

    class Meta:
        db_table = "gp_anchor"


class AnchorStamp(models.Model):
    """The time stamp (RFC 3161) that an authority gave an anchor; never changed."""

    pk = models.CompositePrimaryKey("number", "destination")
    number = models.BigIntegerField()
    destination = models.CharField(max_length=200)
    token = models.BinaryField()
    at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "gp_anchor_stamp"


class AnchorDestination(models.Model):
    """A destination of GATEPOST_ANCHORS, and the newest anchor that it has confirmed."""

    name = models.CharField(primary_key=True, max_length=200)
    acknowledged = models.BigIntegerField(db_default=0)
    acknowledged_at = models.DateTimeField(null=True)
    created_at = models.DateTimeField(db_default=Now())
    tried_at = models.DateTimeField(null=True)
    error = models.CharField(max_length=300, blank=True, db_default="", default="")
    alarmed_at = models.DateTimeField(null=True)

    class Meta:
        db_table = "gp_anchor_destination"
