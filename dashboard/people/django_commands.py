"""Record changes that Django's own commands make to logins, in the workspace's log."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from django.contrib.auth import get_user_model
from django.db import transaction
from django.db.models.signals import post_save, pre_save

from checkpoints import queries, store
from checkpoints.errors import NotFound
from checkpoints.states import WorkspaceEventKind as Kind
from dashboard.identity.passwords import given_hash
from dashboard.people.accounts.usernames import claim_name


@contextmanager
def logged(actor: str) -> Iterator[None]:
    """Write an event with each user that is made or changed meanwhile, in one transaction with it.

    Raises Invalid for the name of a new one that is taken or not allowed. The transaction is open
    around the write alone: such a command waits for a person to type.
    """
    with ExitStack() as writing:

        def before(instance: Any, **_: Any) -> None:
            writing.enter_context(transaction.atomic())
            if instance._state.adding:
                instance.username = claim_name(instance.username)
            elif (chosen := getattr(instance, "_password", None)) is not None:
                # The person at the machine chose it, and not its owner.
                instance.password = given_hash(chosen)

        def after(instance: Any, created: bool, **_: Any) -> None:
            _log(actor, instance, created=created)
            writing.close()

        model = get_user_model()
        pre_save.connect(before, sender=model, weak=False)
        post_save.connect(after, sender=model, weak=False)
        try:
            yield
        finally:
            pre_save.disconnect(before, sender=model)
            post_save.disconnect(after, sender=model)


def _log(actor: str, user: Any, *, created: bool) -> None:
    changed: dict[str, Any] = {"is_superuser": [False, True]} if created else {"password": None}
    store.log_user(
        Kind.USER_CREATED if created else Kind.USER_CHANGED,
        user.pk,
        name=user.get_username(),
        changed=changed,
        actor=actor,
        workspace=_default_workspace(actor),
    )


def _default_workspace(actor: str) -> Any:
    try:
        return queries.default_workspace()
    except NotFound:
        return store.ensure_workspace("default", actor=actor)
