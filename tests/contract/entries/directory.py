"""The calls of a directory (SCIM) as entry points."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from typing import Any
from uuid import uuid4

from django.test import Client
from django.urls import reverse

from dashboard.identity.administrator import Administrator
from dashboard.people.accounts.accounts import change_account
from dashboard.people.directory import provisioned
from dashboard.people.scim import urls as scim_urls
from tests.contract.world import World

from .calls import tokens_of
from .entry import Entry, Knock, outcome_of

# {address: {method: body}}; the person and the group are made for each entry point.
SCIM: dict[str, dict[str, dict[str, Any]]] = {
    "users": {"post": {"userName": "entry-new"}},
    "user": {
        "put": {"userName": "entry-changed"},
        "patch": {"Operations": [{"op": "replace", "path": "active", "value": False}]},
        "delete": {},
    },
    "groups": {"post": {"displayName": "entry-new"}},
    "group": {
        "put": {"displayName": "entry-changed"},
        "patch": {"Operations": [{"op": "replace", "path": "displayName", "value": "entry-2"}]},
        "delete": {},
    },
}


def scim(name: str, method: str, world: World, foreign: bool) -> Knock:
    """Call SCIM with the bearer token of a directory; the admin is a superuser meanwhile."""
    row = world.cast.users["admin"]
    row.refresh_from_db()  # as it is once more, since the entry point before was taken back
    change_account(row, {"is_superuser": True}, actor="user:0", workspace=world.cast.workspace)
    who = Administrator(world.cast.actor("admin"), superuser=True)
    user = provisioned.provision(who, {"username": f"entry-{uuid4().hex[:8]}"})
    group = provisioned.add_group(who, name=f"entry-{uuid4().hex[:8]}", members=[user.pk])
    ids = {"user": [user.pk], "group": [group.pk]}.get(name, [])
    path, bearers = reverse(f"scim:{name}", args=ids), tokens_of(world)
    raw = json.dumps(SCIM[name][method])

    def knock(who: str | None) -> str:
        headers = {"Authorization": f"Bearer {bearers[who]}"}
        made: Any = Client().generic(
            method.upper(), path, raw, content_type="application/scim+json", headers=headers
        )
        return outcome_of(made.status_code)

    return knock


def scim_entries() -> Iterator[Entry]:
    for name, methods in SCIM.items():
        for method in methods:
            knock = partial(scim, name, method)
            # People and groups belong to the installation: there are none of another workspace.
            yield Entry("scim", f"{name} {method}", knock, names_things=False)


def scim_addresses() -> set[str]:
    """Each address of SCIM with each method that changes something."""
    return {
        f"{one.name} {method}"
        for one in scim_urls.urlpatterns
        for method in ("post", "put", "patch", "delete")
        if one.name and hasattr(one.callback.view_class, method)
    }
