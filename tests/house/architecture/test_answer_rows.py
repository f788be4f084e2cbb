"""An answer of the API is the row of a reader; a shape of its own has other fields, or a reason."""

from __future__ import annotations

import importlib
from dataclasses import fields, is_dataclass
from typing import Any

from pydantic import BaseModel

from dashboard.kit.shapes.requests import RequestShape
from tools import size

# Shapes with the fields of a row whose values are others.
OTHER_VALUES = {
    "dashboard.administration.caps.Cap": "the amount is text as programs read it, not a decimal",
    "dashboard.administration.retention.RetentionRule": "it is read from the model, whose rows "
    "are locked; the reader's rule belongs to the sweep",
    "dashboard.approvals.report_shape.ReportedLook": "`person` is a name, not an id",
    "dashboard.threads.thread_shapes.RollbackOutcome": "its effects are named by their ids",
    "dashboard.people.second_factor_calls.SecondFactor": "it is also answered where there is none",
    "dashboard.records.search.CheckedThreads": "`damaged` is a number, not a list of threads",
}
# An answer is of one workspace: it does not name it.
WORKSPACE = {"workspace", "workspace_id"}


def _classes() -> list[type]:
    modules = size.modules(("checkpoints", "approvals", "dashboard"))
    # A sign-in service of its own is an app only where it is switched on.
    names = [name for name in modules if ".migrations" not in name and not _needs_service(name)]
    return [
        one
        for name in names
        for one in vars(importlib.import_module(name)).values()
        if isinstance(one, type) and one.__module__ == name
    ]


def _needs_service(name: str) -> bool:
    return name.startswith("dashboard.people.sso") or name.endswith(".single_sign_on")


def _row_fields(row: Any) -> set[str]:
    names = [one.name for one in fields(row)] if is_dataclass(row) else getattr(row, "_fields", ())
    return {*names} - WORKSPACE


def _shape_fields(shape: type[BaseModel]) -> set[str]:
    return {one.alias or name for name, one in shape.model_fields.items()} - WORKSPACE


def test_no_shape_has_the_fields_of_a_row() -> None:
    """A reader's row is answered as it is: its fields have descriptions, or are excluded."""
    classes = _classes()
    rows = [known for one in classes if len(known := _row_fields(one)) > 1]
    shapes = [
        one for one in classes if issubclass(one, BaseModel) and not issubclass(one, RequestShape)
    ]
    assert len(rows) > 300
    assert len(shapes) > 100
    twins = {f"{one.__module__}.{one.__qualname__}" for one in shapes if _shape_fields(one) in rows}
    assert twins == {*OTHER_VALUES}
