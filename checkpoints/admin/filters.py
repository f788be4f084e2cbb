"""Filters of the admin's lists: one column each, exact or since a time, so that an index serves."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.contrib import admin
from django.contrib.admin.options import IncorrectLookupParameters
from django.db.models import Q
from django.db.models.functions import Now
from django.http import HttpRequest

SINCE = {"hour": 1, "day": 24, "week": 24 * 7, "month": 24 * 31}


class Narrow(admin.SimpleListFilter):
    """Narrows a list by one column; the list itself asks for `equal` and `condition`."""

    column = ""
    values: tuple[str, ...] = ()  # those that it takes; empty where it takes an id

    def lookups(self, request: HttpRequest, model_admin: Any) -> Iterable[tuple[str, str]]:
        return ()

    def queryset(self, request: HttpRequest, queryset: Any) -> None:
        """Nothing: conditions are put together by the list, which chooses its index by them."""

    def equal(self) -> dict[str, Any]:
        """{column: value} where an exact value is asked for."""
        return {}

    def condition(self) -> Q:
        """Any other condition."""
        return Q()


class _Choice(Narrow):
    def lookups(self, request: HttpRequest, model_admin: Any) -> Iterable[tuple[str, str]]:
        return [(value, value.replace("_", " ")) for value in self.values]

    def equal(self) -> dict[str, Any]:
        value = self.value()
        if value is None:
            return {}
        if value not in self.values:
            raise IncorrectLookupParameters
        return {self.column: value}


class _Noun(_Choice):
    def equal(self) -> dict[str, Any]:
        return {}

    def condition(self) -> Q:
        value = self.value()
        if value is None:
            return Q()
        if value not in self.values:
            raise IncorrectLookupParameters
        return Q(**{f"{self.column}__startswith": f"{value}."})


class _Ident(Narrow):
    def lookups(self, request: HttpRequest, model_admin: Any) -> Iterable[tuple[str, str]]:
        value = self.value()
        return [(value, f"… {value[-8:]}")] if value else ()

    def has_output(self) -> bool:
        # Asked before the choices are known; without a value it stays out of the sidebar.
        return bool(self.value())

    def equal(self) -> dict[str, Any]:
        value = self.value()
        if not value:
            return {}
        try:
            return {self.column: UUID(value)}
        except ValueError as error:
            raise IncorrectLookupParameters from error


class _Since(Narrow):
    values = tuple(SINCE)

    def lookups(self, request: HttpRequest, model_admin: Any) -> Iterable[tuple[str, str]]:
        return [(name, f"Past {name}") for name in SINCE]

    def condition(self) -> Q:
        value = self.value()
        if value is None:
            return Q()
        if value not in SINCE:
            raise IncorrectLookupParameters
        return Q(**{f"{self.column}__gte": Now() - timedelta(hours=SINCE[value])})


def _made(base: type[Narrow], column: str, title: str, **more: object) -> type[Narrow]:
    made = {"column": column, "parameter_name": column, "title": title, **more}
    return type(f"By_{column}", (base,), made)


def choice(column: str, values: Iterable[str], title: str = "") -> type[Narrow]:
    """Choose one of a few values."""
    return _made(_Choice, column, title or column, values=tuple(map(str, values)))


def noun(column: str, kinds: Iterable[str], title: str) -> type[Narrow]:
    """Choose what events are about: the part of their kind before the point."""
    nouns = sorted({str(kind).partition(".")[0] for kind in kinds})
    return _made(_Noun, column, title, values=tuple(nouns))


def ident(column: str, title: str) -> type[Narrow]:
    """Rows that refer to one id; comes from links, so it shows only once it is chosen."""
    return _made(_Ident, column, title)


def since(column: str, title: str = "time") -> type[Narrow]:
    """Choose how far back."""
    return _made(_Since, column, title, parameter_name="since")
