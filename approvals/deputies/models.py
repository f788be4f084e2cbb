"""The table of deputies: who acts for whom, and from when until when."""

from __future__ import annotations

from django.db import models
from django.db.models.functions import Now
from uuid_utils.compat import uuid7


class Deputy(models.Model):
    """The right of `deputy` to act for `person` (both `user:7`).

    In all requests from `begins` until `ends`, or in the one request `approval_id`, without end.
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    workspace_id = models.UUIDField()
    person = models.CharField(max_length=200)
    deputy = models.CharField(max_length=200)
    approval_id = models.UUIDField(null=True)
    begins = models.DateTimeField()
    ends = models.DateTimeField(null=True)
    reason = models.CharField(max_length=500, blank=True)
    made_by = models.CharField(max_length=200)
    made_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "gp_deputy"
        verbose_name_plural = "deputies"
        constraints = (
            models.UniqueConstraint(
                fields=("workspace_id", "person", "approval_id"), name="gp_deputy_request"
            ),
            models.CheckConstraint(
                condition=~models.Q(person=models.F("deputy")), name="gp_deputy_other"
            ),
            models.CheckConstraint(
                condition=models.Q(approval_id=None, ends__gt=models.F("begins"))
                | models.Q(approval_id__isnull=False, ends=None),
                name="gp_deputy_until",
            ),
        )
        indexes = (models.Index(fields=("workspace_id", "deputy"), name="gp_deputy_acts"),)
