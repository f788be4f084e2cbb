"""The address of a question to the record: one reading for page, API, command and saved views."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlencode
from uuid import UUID

from django.contrib.auth import get_user_model

from approvals.records import Question
from checkpoints.errors import InvalidValue
from checkpoints.state import deltas
from dashboard.board.filters.records import RECORDS
from dashboard.errors import Invalid
from dashboard.fields.filters import page_values, read
from dashboard.fields.parameters import TEXT_MAX, address_lists, first_wrong
from dashboard.wording.amounts import AMOUNTS
from dashboard.wording.parties import PAYEES

_FIELDS: Final = {one.name: one.field or one.name for one in RECORDS}


def question_of(workspace: UUID, texts: Mapping[str, str]) -> Question:
    """The question that texts by the names of RECORDS ask; raises Invalid with the name."""
    values = _values(texts)
    if "actor" in values:
        values["actor"] = _actors(values["actor"])
    fields = {_FIELDS[name]: value for name, value in values.items()}
    return Question(workspace, payees=PAYEES, amounts=AMOUNTS, **fields)


def _values(texts: Mapping[str, str]) -> dict[str, Any]:
    """{name: value} of what they say; raises Invalid."""
    return read(RECORDS, {name: _text(name, texts.get(name, "")) for name in _FIELDS})


def named(filters: Mapping[str, str]) -> dict[str, str]:
    """Those of the filters that say something."""
    return {name: value for name in _FIELDS if (value := filters.get(name, "").strip())}


def read_address(text: str) -> str:
    """The canonical address of a question such as `payee=ACME&decision=approve`.

    Raises Invalid, which names the word that the search does not take, or the value.
    """
    filters = _filters(text)
    try:
        _values(filters)
    except Invalid as error:
        fault = error.faults[0]
        raise Invalid("$.address", f"“{fault.path}” {fault.message}") from error
    return urlencode(named(filters))


def readable(text: str) -> tuple[str, str]:
    """(the address that can be opened, why its search shows nothing) of a saved text.

    No filter is ever left out, since the search would show more than was saved.
    """
    try:
        return read_address(text), ""
    except Invalid as error:
        return text, f"{error.faults[0].message.rstrip('.')}."


def _filters(text: str) -> dict[str, str]:
    lists = address_lists(text)
    lists.pop("p", None)  # a place in the answers, which nobody means to keep
    if wrong := first_wrong(lists.items(), page_values(RECORDS)):
        raise Invalid("$.address", wrong.explained("The search"))
    return {name: values[-1] for name, values in lists.items()}


def _text(name: str, value: str) -> str:
    try:
        deltas.check(value, name)
    except InvalidValue as error:
        raise Invalid(name, error.reason) from error
    if len(value) > TEXT_MAX:
        raise Invalid(name, f"is longer than {TEXT_MAX} characters")
    return value.strip()


def _actors(value: str) -> tuple[str, ...]:
    users = get_user_model()._default_manager.filter(username__iexact=value)
    return (value, *(f"user:{pk}" for pk in users.values_list("pk", flat=True)))
