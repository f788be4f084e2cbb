"""Figures by hour and day, and budgets by month."""

from __future__ import annotations

from django.db import models
from django.db.models.functions import Now
from uuid_utils.compat import uuid7

SCOPES = ("workspace", "agent", "team")
AT_FULL = ("notify", "stop")


class Figure(models.Model):
    """A figure of one hour or day (UTC) by agent, name and team; a cache that is made anew.

    `unit` is hour or day, `at` its beginning. `name` is the model of what was spent, and the node
    of what failed.
    """

    pk = models.CompositePrimaryKey("workspace_id", "unit", "at", "figure", "agent", "name", "team")
    workspace_id = models.UUIDField()
    unit = models.CharField(max_length=4)
    at = models.DateTimeField()
    figure = models.CharField(max_length=20)
    agent = models.CharField(max_length=100)
    name = models.CharField(max_length=200, blank=True)
    team = models.CharField(max_length=200, blank=True)
    n = models.BigIntegerField()
    tokens = models.BigIntegerField()
    cost = models.DecimalField(max_digits=18, decimal_places=6)

    class Meta:
        db_table = "gp_figure"


class FoldedUnit(models.Model):
    """An hour or day whose figures are in Figure, and since when; also one without figures."""

    pk = models.CompositePrimaryKey("workspace_id", "unit", "at")
    workspace_id = models.UUIDField()
    unit = models.CharField(max_length=4)
    at = models.DateTimeField()
    folded_at = models.DateTimeField()

    class Meta:
        db_table = "gp_folded_unit"


class FigureChange(models.Model):
    """An hour or day in which a thread ended that continues, noted by gp_figure_changed.

    The row is gone once the figures are added up again.
    """

    pk = models.CompositePrimaryKey("workspace_id", "unit", "at", "id")
    workspace_id = models.UUIDField()
    unit = models.CharField(max_length=4)
    at = models.DateTimeField()
    id = models.UUIDField()

    class Meta:
        db_table = "gp_figure_change"


class Budget(models.Model):
    """The limit of an agent, a team (by the label `team`) or the workspace in a month.

    `number` counts the changes. `at_full` says what happens when it is spent: `notify` people, or
    also `stop` the threads by a breaker.
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    workspace_id = models.UUIDField()
    scope = models.CharField(max_length=10)
    name = models.CharField(max_length=200, blank=True)
    max_tokens = models.BigIntegerField(null=True)
    max_cost = models.DecimalField(max_digits=18, decimal_places=6, null=True)
    at_full = models.CharField(max_length=10)
    active = models.BooleanField(default=True)
    number = models.IntegerField(default=1)

    class Meta:
        db_table = "gp_budget"
        constraints = (
            models.UniqueConstraint(
                fields=("workspace_id", "scope", "name"), name="gp_budget_once"
            ),
            models.CheckConstraint(
                condition=models.Q(scope__in=SCOPES, at_full__in=AT_FULL)
                & (models.Q(max_tokens__isnull=False) | models.Q(max_cost__isnull=False)),
                name="gp_budget_words",
            ),
        )


class BudgetBand(models.Model):
    """A share of a budget that was reached in a month: 80 or 100 per cent, with what was spent."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    budget_id = models.UUIDField()
    number = models.IntegerField()
    month = models.DateField()
    band = models.SmallIntegerField()
    workspace_id = models.UUIDField()
    tokens = models.BigIntegerField()
    cost = models.DecimalField(max_digits=18, decimal_places=6)
    breaker_id = models.UUIDField(null=True)
    at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "gp_budget_band"
        constraints = (
            models.UniqueConstraint(
                fields=("budget_id", "number", "month", "band"), name="gp_budget_band_once"
            ),
        )
