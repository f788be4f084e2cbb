"""Cover of each column of each table by verification: proved, derived, or why not.

The list of columns comes from the models; here stands what holds of each. A test compares the two,
another one alters every proved column, and docs/columns.md is this list as a page.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

from django.apps import apps
from django.db import models
from django.db.migrations.recorder import MigrationRecorder

from checkpoints.log import recorded

from .column_reasons import DERIVED, NOT_COVERED, PROVED

# Ours first, then those of the packages that keep rows here.
APPS: Final = (
    *("checkpoints", "approvals", "dashboard", "auth"),
    *("sessions", "axes", "admin", "contenttypes"),
)
type Cover = Literal["proved", "derived", "not covered"]
HEAD = """# What verification covers, column by column

Made by `./manage.py verify --columns`; a test compares it. **proved**: the column is folded from a
chained log, or hashed into one, and compared; altered past all guards, it is found. **derived**: it
follows from what is proved. **not covered**: why not.
"""


@dataclass(frozen=True, slots=True)
class Column:
    """One column and what verification says of it."""

    table: str
    name: str
    cover: Cover
    why: str


def model_columns() -> Iterator[tuple[str, str]]:
    """(table, column) of every table: of our models, of Django's and of the packages'."""
    for label in APPS:
        models = apps.get_app_config(label).get_models(include_auto_created=True)
        # By table: models are registered in the order in which modules happen to be imported.
        for model in sorted(models, key=lambda model: model._meta.db_table):
            for column in _columns(model):
                yield model._meta.db_table, column
    # Django's list of migrations belongs to no app.
    for column in _columns(MigrationRecorder.Migration):
        yield MigrationRecorder.Migration._meta.db_table, column


def columns() -> list[Column]:
    """List the first cover of every column; a column in no list is left out."""
    results = []
    for table, name in model_columns():
        covers = list(_covers(table, name))
        results += [Column(table, name, cover, why) for cover, why in covers[:1]]
    return results


def problems() -> list[str]:
    """Columns that stand in no list or in several, and entries that name no column."""
    there = list(model_columns())
    lines = [
        f"{table}.{name} stands in {len(covers) or 'no'} list"
        for table, name in there
        if len(covers := list(_covers(table, name))) != 1
    ]
    tables = {table for table, _ in there}
    entries = {
        (table, name)
        for part in (PROVED, DERIVED, NOT_COVERED)
        for table, names in part.items()
        for name in names
    }
    stale = sorted(
        entry
        for entry in entries
        if entry not in there and (entry[1] != "*" or entry[0] not in tables)
    )
    return lines + [f"{table}.{name} is not a column" for table, name in stale]


def proved(table: str) -> set[str]:
    """The proved columns of a table."""
    return {c.name for c in columns() if c.table == table and c.cover == "proved"}


def page() -> str:
    """The list as Markdown."""
    lines, last = [HEAD], ""
    for column in columns():
        if column.table != last:
            last = column.table
            lines.append(f"\n## {last}\n\n| column | cover | by what, or why not |\n|---|---|---|")
        lines.append(f"| `{column.name}` | {column.cover} | {column.why} |")
    return "\n".join(lines) + "\n"


def _covers(table: str, name: str) -> Iterator[tuple[Cover, str]]:
    on_record = recorded.tables().get(table)
    if on_record is not None and (name in on_record.columns or name in ("id", on_record.of)):
        since = "" if on_record.untouched is None else " from the first act of a person on"
        yield "proved", f"the log of the workspace records the row{since}"
    if name in PROVED.get(table, {}):
        yield "proved", PROVED[table][name]
    for cover, part in _PARTS:
        reasons = part.get(table, {})
        if name in reasons or "*" in reasons:
            yield cover, reasons.get(name) or reasons["*"]


_PARTS: Final[tuple[tuple[Cover, dict[str, dict[str, str]]], ...]] = (
    ("derived", DERIVED),
    ("not covered", NOT_COVERED),
)


def _columns(model: type[models.Model]) -> list[str]:
    return [str(field.column) for field in model._meta.concrete_fields]
