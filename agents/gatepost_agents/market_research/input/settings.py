"""What a person may say about the work: all optional, read from plain state, checked here."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .problems import UnknownColumn, UnusableSetting, quoted

KINDS = ("number", "date", "category", "id", "text")


@dataclass(frozen=True)
class Settings:
    """`columns` maps a column to its kind; "" and empty mean: find out from the table."""

    question: str = ""
    measure: str = ""
    groups: tuple[str, ...] = ()
    period: str = ""
    columns: Mapping[str, str] = field(default_factory=dict)
    ignore: tuple[str, ...] = ()
    units: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def read(cls, raw: Mapping[str, Any]) -> "Settings":
        """Settings from plain JSON; unknown keys are left alone, a wrong type raises."""
        return cls(
            question=_text(raw, "question"),
            measure=_text(raw, "measure"),
            groups=_texts(raw, "groups"),
            period=_text(raw, "period"),
            columns=_mapping(raw, "columns"),
            ignore=_texts(raw, "ignore"),
            units=_mapping(raw, "units"),
        ).checked()

    def checked(self) -> "Settings":
        """Itself; UnusableSetting for a kind that does not exist."""
        for column, kind in self.columns.items():
            if kind not in KINDS:
                raise UnusableSetting(
                    f"`columns` calls {quoted(column)} a {quoted(kind)}; a kind is one of "
                    f"{', '.join(KINDS)}."
                )
        return self

    def fitted(self, names: Iterable[str]) -> "Settings":
        """The same with each column spelled as in the table and without what is to be ignored.

        Upper and lower case do not matter. Raises UnknownColumn.
        """
        known = list(names)
        ignored = tuple(_known_name(name, "ignore", known) for name in self.ignore)
        measure = _known_name(self.measure, "measure", known) if self.measure else ""
        period = _known_name(self.period, "period", known) if self.period else ""
        groups = [_known_name(name, "groups", known) for name in self.groups]
        return Settings(
            question=self.question,
            measure="" if measure in ignored else measure,
            groups=tuple(dict.fromkeys(name for name in groups if name not in ignored)),
            period="" if period in ignored else period,
            columns={
                column: kind
                for name, kind in self.columns.items()
                if (column := _known_name(name, "columns", known)) not in ignored
            },
            ignore=ignored,
            units={_known_name(name, "units", known): unit for name, unit in self.units.items()},
        )

    def numbers(self) -> dict[str, tuple[str, ...]]:
        """Columns that must hold numbers, each with the settings that say so."""
        named = {column: ["columns"] for column, kind in self.columns.items() if kind == "number"}
        if self.measure:
            named.setdefault(self.measure, []).insert(0, "measure")
        return {column: tuple(settings) for column, settings in named.items()}


def _known_name(name: str, setting: str, known: Sequence[str]) -> str:
    if name in known:
        return name
    alike = [column for column in known if column.casefold() == name.strip().casefold()]
    if len(alike) == 1:
        return alike[0]
    raise UnknownColumn(name, setting, known)


def _text(raw: Mapping[str, Any], key: str) -> str:
    value = raw.get(key)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise UnusableSetting(f"`{key}` must be a text.")
    return value.strip()


def _texts(raw: Mapping[str, Any], key: str) -> tuple[str, ...]:
    value = raw.get(key)
    if value is None or value == "":
        return ()
    if isinstance(value, str):
        return (value,)
    if not isinstance(value, Sequence) or not all(isinstance(item, str) for item in value):
        raise UnusableSetting(f"`{key}` must be a list of column names.")
    return tuple(item for item in value if item.strip())


def _mapping(raw: Mapping[str, Any], key: str) -> dict[str, str]:
    value = raw.get(key)
    if value is None:
        return {}
    if not isinstance(value, Mapping) or not all(
        isinstance(name, str) and isinstance(text, str) for name, text in value.items()
    ):
        raise UnusableSetting(f"`{key}` must map column names to texts.")
    return dict(value)
