"""The forms of a page, each with every button that sends it, with what it holds as it comes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any


@dataclass
class Form:
    """A form that is sent by POST: where it goes, its fields, and its buttons."""

    action: str
    fields: list[tuple[str, str]] = field(default_factory=list)
    empty: list[str] = field(default_factory=list)  # names of fields for text that hold none
    buttons: list[dict[str, str]] = field(default_factory=list)


@dataclass(frozen=True)
class Sending:
    """One way to send a form."""

    address: str
    fields: dict[str, list[str]]
    empty: tuple[str, ...]


def sendings(html: str, page: str) -> Iterator[Sending]:
    """Each way in which the forms of a page can be sent."""
    reader = _Forms(page)
    reader.feed(html)
    for form in reader.forms.values():
        for button in form.buttons or [{}]:
            values: dict[str, list[str]] = {}
            for name, value in form.fields:
                values.setdefault(name, []).append(value)
            if name := button.get("name", ""):
                values.setdefault(name, []).append(button.get("value", ""))
            address = button.get("formaction", form.action)
            yield Sending(address, values, tuple(form.empty))


class _Forms(HTMLParser):
    def __init__(self, page: str) -> None:
        super().__init__()
        self.page = page
        self.forms: dict[str, Form] = {}
        self._open = ""
        self._select: dict[str, str] | None = None
        self._options: list[dict[str, Any]] = []
        self._text: dict[str, str] | None = None
        self._words = ""
        self._outside: list[tuple[str, str, dict[str, str]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        has = {name: value or "" for name, value in attrs}
        if tag == "form":
            self._open = has.get("id") or f"#{len(self.forms)}"
            if has.get("method", "").lower() == "post":
                self.forms[self._open] = Form(has.get("action") or self.page)
            for of, kind, one in self._outside:
                if of == self._open:
                    self._add(kind, one)
        elif tag in ("input", "button"):
            self._add(tag, has)
        elif tag == "select":
            self._select, self._options = has, []
        elif tag == "option" and self._select is not None:
            self._options.append(has)
        elif tag == "textarea":
            self._text, self._words = has, ""

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self._open = ""
        elif tag == "select" and self._select is not None:
            chosen = [one for one in self._options if "selected" in one]
            if "multiple" not in self._select:
                usable = [one for one in self._options if one.get("value")]
                needed = "required" in self._select and usable
                chosen = chosen or (usable or self._options if needed else self._options)[:1]
            for one in chosen:
                self._field(self._select, one.get("value", ""))
            self._select = None
        elif tag == "textarea" and self._text is not None:
            self._field(self._text, self._words.removeprefix("\n"))
            self._text = None

    def handle_data(self, data: str) -> None:
        if self._text is not None:
            self._words += data

    def _form(self, has: dict[str, str]) -> Form | None:
        return self.forms.get(has.get("form") or self._open)

    def _field(self, has: dict[str, str], value: str, *, to_fill: bool = True) -> None:
        form = self._form(has)
        if form is None or not has.get("name") or "disabled" in has:
            return
        form.fields.append((has["name"], value))
        if to_fill and not value:
            form.empty.append(has["name"])

    def _add(self, tag: str, has: dict[str, str]) -> None:
        if (named := has.get("form")) and named not in self.forms:
            self._outside.append((named, tag, has))  # it comes before its form
            return
        kind = has.get("type", "submit" if tag == "button" else "text")
        if kind in ("submit", "image"):
            form = self._form(has)
            if form is not None and "disabled" not in has:
                form.buttons.append(has)
        elif kind in ("checkbox", "radio"):
            if "checked" in has:
                self._field(has, has.get("value", "on"))
        elif tag == "input" and kind not in ("file", "reset", "button"):
            self._field(has, has.get("value", ""), to_fill=kind != "hidden")
