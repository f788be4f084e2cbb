"""The one place where figures are rounded and written.

Rules: a mean, median, percentile, deviation or interval end gets `places_for(scale)` decimals (2
for anything of size 1 or more, so that small measures keep three significant digits); percentages
and correlations get 2. Ties go to the even digit (Python's `round` of the exact binary value).
What is not finite becomes None, and -0.0 becomes 0.0. Text shows exactly the rounded value.
"""

import math

PERCENT_PLACES = 2
RATIO_PLACES = 2

type Figure = int | float | str | None


def places_for(scale: float) -> int:
    """Decimals for figures whose typical size is `scale`."""
    if not math.isfinite(scale) or scale <= 0 or scale >= 1:
        return 2
    return min(12, 2 + math.ceil(-math.log10(scale)))


def rounded(value: float | None, places: int) -> float | None:
    """`value` with `places` decimals, or None when there is no finite value."""
    if value is None or not math.isfinite(value):
        return None
    return round(float(value), places) + 0.0


def percent(part: float, whole: float) -> float | None:
    """`part` of `whole` in percent."""
    return rounded(100 * part / whole, PERCENT_PLACES) if whole else None


class Figures:
    """Collects every figure that a text shows: each method notes the value and returns its text.

    `values` is {name: value}, with exactly the values that the text shows.
    """

    def __init__(self, places: int) -> None:
        self.places = places
        self.values: dict[str, Figure] = {}

    def count(self, name: str, value: int) -> str:
        """A number of things."""
        self.values[name] = value
        return f"{value:,}"

    def rows(self, name: str, value: int) -> str:
        """A number of rows, with the word."""
        return self.count(name, value) + (" row" if value == 1 else " rows")

    def amount(self, name: str, value: float | None) -> str:
        """A figure in the measure's unit, already rounded."""
        return self._fixed(name, value, self.places)

    def percent(self, name: str, value: float | None) -> str:
        """A percentage, already rounded, with its sign."""
        text = self._fixed(name, value, PERCENT_PLACES)
        return text if value is None else f"{text} %"

    def ratio(self, name: str, value: float | None) -> str:
        """A correlation, already rounded."""
        return self._fixed(name, value, RATIO_PLACES)

    def _fixed(self, name: str, value: float | None, places: int) -> str:
        self.values[name] = value
        return "-" if value is None else f"{value:,.{places}f}"
