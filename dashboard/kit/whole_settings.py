"""Settings whose action sets a row as a whole: budgets, spend caps, retention rules."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.db import transaction

from checkpoints.store.installation.workspaces import lock_workspaces
from dashboard.errors import Missing
from dashboard.identity.permissions import Actor, require

from .action import Action, read


def switch_off(
    action: Action[Any, Any],
    actor: Actor,
    read_all: Callable[[Actor], Any],
    *,
    missing: str,
    **key: str,
) -> Any:
    """Switch off the setting of this key; its other values stay as they are.

    Answers what the action answers. Raises Missing with the sentence `missing` without such a
    setting among `read_all(actor).results`.
    """
    require(actor, action.right)
    with transaction.atomic():
        # Before the read: else another person's change between read and write would be lost.
        lock_workspaces([actor.workspace])
        for row in read_all(actor).results:
            if key == {name: getattr(row, name) for name in key}:
                values = row.model_dump(include={*action.takes.model_fields}) | {"active": False}
                return action.run(actor, read(action.takes, values))
    raise Missing(missing)
