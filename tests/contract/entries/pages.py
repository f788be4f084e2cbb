"""The forms of pages as entry points."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial

from django.urls import reverse

from tests.contract.world import World

from . import declared
from .entry import MISSING, Entry, Knock, answered, browsers, swapped
from .test_pages_and_calls import FORMS, QUERY

# Pages that decide several things at once say 409 where none of them was done.
SEVERAL = {"approvals_decide"}


def page(name: str, world: World, foreign: bool) -> Knock:
    """Send the form of a page."""
    _, ids, form = FORMS[name](world)
    path = reverse(name, args=ids) + QUERY.get(name, "")
    form = {key: str(value) for key, value in form.items()}
    if foreign:
        path, form = swapped(world, path), json.loads(swapped(world, json.dumps(form)))
    clients = browsers(world)

    def knock(who: str | None) -> str:
        answer = clients[who].post(path, form)
        if name in SEVERAL and answer.status_code == 409:
            assert b"no such request" in answer.content
            return MISSING
        return answered(answer)

    return knock


# The last: of many threads each is refused by itself; nothing is done to those of others.
NO_NAMES = (
    *(name for name, action in declared.pages().items() if not action.target),
    *("thread_new", "voice", "view_new", "threads_many", "sign_ins_end_others", "device_add"),
    *("second_factor_add", "second_factor_remove", "passkey_remove"),
)
# A wrong password is counted and logged, so being refused writes; its tests stand in
# actions/people/test_access_changes.py.
BY_PASSWORD = {"own_password"}


def pages() -> Iterator[Entry]:
    for name in (one for one in FORMS if one not in BY_PASSWORD):
        names = name not in NO_NAMES
        yield Entry("page", name, partial(page, name), names_things=names)
