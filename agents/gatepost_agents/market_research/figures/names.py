"""What columns, values and the whole report are called."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from ..input.kinds import words_of
from ..input.settings import Settings

# What the group of rows without a group is called.
NO_VALUE = "(no value)"
# A unit at the end of a column name: "Price (EUR)", "Weight [kg]".
IN_BRACKETS = re.compile(r"\s*[(\[]([^()\[\]]{1,20})[)\]]\s*$")


class Wording:
    """Labels and units: what a data set's documentation says, else made from the names."""

    def __init__(
        self, profile: Mapping[str, Any], columns: Iterable[Mapping[str, Any]], wish: Settings
    ) -> None:
        self._labels, self._values = profile["labels"], profile["value_labels"]
        signs = {column["name"]: column["unit"] for column in columns if column["unit"]}
        self._units = {**profile["units"], **signs, **wish.units}

    def column(self, name: str) -> str:
        """`unit_price` becomes "Unit price" unless the data set says what it means."""
        if known := self._labels.get(name):
            return str(known)
        bare = IN_BRACKETS.sub("", name).strip() or name
        plain = bare if " " in bare else " ".join(words_of(bare))
        return plain[:1].upper() + plain[1:] if plain else name

    def unit(self, name: str) -> str:
        """The unit of a column, or "": as told, as its values show, or as its name says."""
        match = IN_BRACKETS.search(name)
        return str(self._units.get(name) or (match[1].strip() if match else ""))

    def value(self, column: str, key: str) -> str:
        """A group's name: what its code stands for, and the code."""
        known = self._values.get(column, {}).get(key)
        return f"{known} ({key})" if known else key


def inside(label: str) -> str:
    """A label as it stands inside a sentence: small unless it is like "GDP"."""
    return label[:1].lower() + label[1:] if label[1:2].islower() else label


def title_of(analysis: Mapping[str, Any]) -> str:
    """The report's title, for example "Arrival delay by carrier"."""
    label = str(analysis["measure"]["label"])
    if analysis["groups"]:
        return f"{label} by {inside(analysis['groups'][0]['label'])}"
    return f"{label} over time" if analysis["trend"] else label


def with_unit(analysis: Mapping[str, Any]) -> str:
    """The measure with its unit, for an axis or a table head: "Arrival delay (minutes)"."""
    unit = analysis["measure"]["unit"]
    return f"{analysis['measure']['label']} ({unit})" if unit else str(analysis["measure"]["label"])
