"""Names for the actors that logs name by id.

A person is `user:7` in the log, through a token `user:7/token:<prefix>`: rules about who did what
(four eyes, "not by the one who started it") compare what stands before the slash. A person whose
decision was made elsewhere is `user:7/hook:<name>`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from django.contrib.auth import get_user_model

from .tokens import labels

_ACTOR = re.compile(r"user:([0-9]{1,9})(?:/token:([a-z0-9]{8})|/hook:([a-z0-9-]{1,40}))?")


def people(actors: Iterable[str]) -> dict[str, str]:
    """{"user:7": "ada", "user:7/token:k3x9mq2p": "ada (token ci)"} of users who still exist.

    Through a hook: "ada (hook slack)".

    One statement, and one more if somebody came through a token.
    """
    found = {actor: parts for actor in actors if (parts := _ACTOR.fullmatch(actor))}
    if not found:
        return {}
    ids = sorted({int(parts[1]) for parts in found.values()})
    users = get_user_model()._default_manager.filter(pk__in=ids)
    names = {user.pk: user.get_full_name() or user.get_username() for user in users}
    prefixes = [parts[2] for parts in found.values() if parts[2]]
    tokens = labels(prefixes) if prefixes else {}
    told = {}
    for actor, parts in found.items():
        if (name := names.get(int(parts[1]))) is not None:
            through = f" (token {tokens.get(parts[2], parts[2])})" if parts[2] else ""
            through = f" (hook {parts[3]})" if parts[3] else through
            told[actor] = name + through
    return told
