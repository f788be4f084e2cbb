"""The saved questions above the search of the records, and the form that saves or replaces one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlencode

from django.urls import reverse

from dashboard.identity.people import people
from dashboard.identity.permissions import Actor, may
from dashboard.models import SavedView as ViewRow

from . import view_actions
from .surfaces import RECORDS, readable
from .view_actions import NAME_MAX

SHOWN = 12


@dataclass(frozen=True, slots=True)
class SavedQuestion:
    """A link to a saved question; `replace` leads to the form that gives it the words of now."""

    row: ViewRow
    href: str
    problem: str
    current: bool
    whose: str
    replace: str


@dataclass(frozen=True, slots=True)
class QuestionBar:
    """The saved questions of a person; `text` is the address of this search as it is saved.

    `may_save` is false before a question, and while one has a mistake.
    """

    questions: list[SavedQuestion]
    text: str
    may_save: bool
    surface: str = RECORDS
    name_max: int = NAME_MAX

    @property
    def shown(self) -> list[SavedQuestion]:
        """Those that have room above the search."""
        return self.questions[:SHOWN]

    @property
    def replaceable(self) -> list[SavedQuestion]:
        """Those that the person may give the words of this search."""
        return [one for one in self.questions if one.replace and not one.current]


def question_bar(who: Actor, words: Mapping[str, str], *, wrong: bool) -> QuestionBar:
    """The bar for a search with these filters; `wrong` where one of them is refused."""
    text = urlencode(words)
    may_save = (
        bool(words) and not wrong and may(who, "save_view") and view_actions.may_open(who, RECORDS)
    )
    rows = view_actions.list_views(who, RECORDS)
    others = {row.owner for row in rows if row.owner != who.person}
    names = people(others) if others else {}
    shown = []
    for row in rows:
        address, problem = readable(row)
        change = f"{reverse('view', args=[row.id])}?{urlencode({'address': text})}"
        shown.append(
            SavedQuestion(
                row,
                href=f"?{address}",
                problem=problem,
                current=address == text,
                whose=names.get(row.owner, row.owner) if row.owner in others else "",
                replace=change if may_save and view_actions.may_change(who, row) else "",
            )
        )
    return QuestionBar(shown, text, may_save)
