"""How the measure goes over time."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from ..input.tables import Coded
from .measures import Numbers, by_code, describe
from .rounding import rounded

MONTHS_BEFORE_YEARS = 60
CUTS = {"day": 10, "month": 7, "year": 4}


def trend(
    table: dict[str, Coded],
    have: npt.NDArray[np.bool_],
    values: Numbers,
    period: Mapping[str, str] | None,
    constants: Mapping[str, str],
    places: int,
) -> dict[str, Any] | None:
    """The mean of `values` (the measure where `have`) over time, or None without two periods.

    By month; dates within two months by day, over more than five years by year. Answers
    {"column", "by", "rows": [{"period": "2013-01", "rows", "mean"}]} in the order of time.
    """
    if period is None:
        return None
    labels, codes = _periods(table, period, constants)
    by = "month"
    if period["kind"] == "date":
        months = {label[:7] for label in labels if label}
        full = all(len(label) >= 10 for label in labels if label)
        by = "day" if len(months) <= 2 and full else "month"
        by = "year" if len(months) > MONTHS_BEFORE_YEARS else by
        labels = [label[: CUTS[by]] for label in labels]
    elif period["kind"] == "year":
        by = "year"
    names = sorted(set(labels) - {""})
    place = {name: index for index, name in enumerate(names)}
    # Rows without a time go to a last bin that is not shown.
    slots = np.array([place.get(label, len(names)) for label in labels])[codes][have]
    rows = [
        {
            "period": name,
            "rows": len(numbers),
            "mean": rounded(describe(numbers)["mean"], places),
        }
        for name, numbers in zip([*names, ""], by_code(values, slots, len(names) + 1), strict=True)
        if name and len(numbers)
    ]
    if len(rows) < 2:
        return None
    columns = [period["year"], period["column"]] if period["year"] else [period["column"]]
    return {"column": " and ".join(columns), "by": by, "rows": rows}


def _periods(
    table: dict[str, Coded], period: Mapping[str, str], constants: Mapping[str, str]
) -> tuple[list[str], npt.NDArray[np.int64]]:
    """The different periods as sortable text ("" for none), and which one each row has."""
    column = table[period["column"]]
    codes = column.codes.astype(np.int64)
    if period["kind"] == "date":
        return column.values, codes
    whole = [str(int(float(text))) if text else "" for text in column.values]
    if period["kind"] == "year":
        return whole, codes
    months = [text.zfill(2) if text else "" for text in whole]
    if period["year"] in table:
        years = table[period["year"]]
        texts = [str(int(float(text))) if text else "" for text in years.values]
        joined = [f"{y}-{m}" if y and m else "" for y in texts for m in months]
        return joined, years.codes.astype(np.int64) * len(months) + codes
    year = constants.get(period["year"], "").split(".")[0]
    return [f"{year}-{month}" if year and month else month for month in months], codes
