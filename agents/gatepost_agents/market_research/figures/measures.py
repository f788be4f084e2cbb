"""The statistics, each defined so that Python's own `statistics` module gives the same figure.

Mean: exactly rounded sum (fsum) over count. Median and percentiles: linear between neighbours,
`statistics.quantiles(method="inclusive")`. Deviation: with n - 1. Interval: mean -/+ 1.96 standard
errors. Share explained: eta squared, in percent.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from .rounding import RATIO_PLACES, percent, places_for, rounded

type Numbers = npt.NDArray[np.float64]

NORMAL_95 = 1.96


def inclusive(ordered: Sequence[float] | Numbers, tenths: int) -> float:
    """The point that `tenths` tenths of the ascending values lie at or below."""
    place, rest = divmod(tenths * (len(ordered) - 1), 10)
    if not rest:
        return float(ordered[place])
    return float(ordered[place] * (10 - rest) + ordered[place + 1] * rest) / 10


def describe(ordered: Numbers) -> dict[str, float | None]:
    """mean, median, p90, deviation, low and high (the interval) of ascending values, unrounded."""
    count = len(ordered)
    mean = math.fsum(ordered.tolist()) / count
    deviation = half = None
    if count > 1:
        deviation = math.sqrt(math.fsum(((ordered - mean) ** 2).tolist()) / (count - 1))
        half = NORMAL_95 * deviation / math.sqrt(count)
    return {
        "mean": mean,
        # Not inclusive(ordered, 5), which can differ in the last bit and round a tie otherwise.
        "median": float(ordered[(count - 1) // 2] + ordered[count // 2]) / 2,
        "p90": inclusive(ordered, 9),
        "deviation": deviation,
        "low": None if half is None else mean - half,
        "high": None if half is None else mean + half,
    }


def scale_of(about: dict[str, float | None]) -> int:
    """Decimals for all figures of a measure, from its overall description."""
    sizes = [abs(about[key] or 0.0) for key in ("mean", "median", "p90", "deviation")]
    return places_for(max(sizes))


def in_places(about: dict[str, float | None], places: int) -> dict[str, float | None]:
    """A description, rounded."""
    return {key: rounded(value, places) for key, value in about.items()}


def by_code(numbers: Numbers, codes: npt.NDArray[Any], levels: int) -> list[Numbers]:
    """The numbers of each code from 0 to levels - 1, ascending."""
    order = np.lexsort((numbers, codes))
    ends = np.cumsum(np.bincount(codes, minlength=levels))
    return np.split(numbers[order], ends[:-1])


def explained(numbers: Numbers, codes: npt.NDArray[Any], levels: int) -> float | None:
    """The percentage of the variance that the codes explain; None where nothing varies."""
    mean = numbers.mean()
    counts = np.bincount(codes, minlength=levels)
    sums = np.bincount(codes, weights=numbers - mean, minlength=levels)
    between = float((sums**2 / np.maximum(counts, 1)).sum())
    return percent(between, float(((numbers - mean) ** 2).sum()))


def correlation(one: Numbers, two: Numbers) -> tuple[float | None, int]:
    """Pearson's r over the rows that have both (rounded), and how many those are."""
    both = np.isfinite(one) & np.isfinite(two)
    count = int(both.sum())
    if count < 3:
        return None, count
    x, y = one[both] - one[both].mean(), two[both] - two[both].mean()
    spread = math.sqrt(float((x * x).sum()) * float((y * y).sum()))
    if not spread:
        return None, count
    return rounded(float((x * y).sum()) / spread, RATIO_PLACES), count
