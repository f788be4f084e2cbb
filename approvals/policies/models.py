"""The table of spend caps."""

from __future__ import annotations

from django.db import models
from uuid_utils.compat import uuid7


class SpendCap(models.Model):
    """A limit of spending at which threads pause; `agent` is empty where it holds for all."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    workspace_id = models.UUIDField()
    scope = models.CharField(max_length=10)
    agent = models.CharField(max_length=100, blank=True)
    per = models.CharField(max_length=10)
    max_cost = models.DecimalField(max_digits=18, decimal_places=6)
    active = models.BooleanField(default=True)

    class Meta:
        db_table = "gp_spend_cap"
        constraints = (
            models.UniqueConstraint(
                fields=("workspace_id", "scope", "agent", "per"), name="gp_spend_cap_once"
            ),
            models.CheckConstraint(
                condition=models.Q(scope__in=("thread", "agent", "workspace"))
                & models.Q(per__in=("total", "day"))
                & models.Q(max_cost__gte=0),
                name="gp_spend_cap_words",
            ),
        )
