"""Names for the actors that logs name by id.

A person is `user:7` in the log, through a token `user:7/token:<prefix>`: rules about who did what
(four eyes, "not by the one who started it") compare what stands before the slash. A person whose
decision was made elsewhere is `user:7/hook:<name>`, a script of this installation that acts in
their name `user:7/script:<name>`. An agent that works elsewhere and signs in as
somebody is `user:7/token:<prefix>/agent:<its name>`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime

from django.contrib.auth import get_user_model

from .tokens import labels

_ACTOR = re.compile(
    r"user:([0-9]{1,9})(?:/token:([a-z0-9]{8})|/(hook|script):([a-z0-9-]{1,40}))?(?:/agent:(.{1,80}))?"
)


def people(actors: Iterable[str]) -> dict[str, str]:
    """{"user:7": "ada", "user:7/token:k3x9mq2p": "ada (token ci)"} of users who still exist.

    Through a hook or by a script: "ada (hook slack)", "ada (script demo)".

    One statement, and one more if somebody came through a token.
    """
    results = {actor: parts for actor in actors if (parts := _ACTOR.fullmatch(actor))}
    if not results:
        return {}
    ids = sorted({int(parts[1]) for parts in results.values()})
    users = get_user_model()._default_manager.filter(pk__in=ids)
    names = {user.pk: user.get_full_name() or user.get_username() for user in users}
    prefixes = [parts[2] for parts in results.values() if parts[2]]
    tokens = labels(prefixes) if prefixes else {}
    payload = {}
    for actor, parts in results.items():
        if (name := names.get(int(parts[1]))) is not None:
            through = f" (token {tokens.get(parts[2], parts[2])})" if parts[2] else ""
            through = f" ({parts[3]} {parts[4]})" if parts[3] else through
            reporter = f"{parts[5]}, an agent of " if parts[5] else ""
            payload[actor] = f"{reporter}{name}{through}"
    return payload


def joined_at(actors: Iterable[str]) -> dict[str, datetime]:
    """{"user:7": when this account was made} of users who still exist; one statement."""
    ids = {int(parts[1]) for actor in actors if (parts := _ACTOR.fullmatch(actor))}
    users = get_user_model()._default_manager.filter(pk__in=ids)
    return {f"user:{pk}": at for pk, at in users.values_list("pk", "date_joined")}
