"""Which account belongs to whom in a directory outside: reads, and changes with their events."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from django.contrib.auth import get_user_model
from django.db import IntegrityError, transaction

from checkpoints import queries, store
from checkpoints.log.recorded import RowChange
from checkpoints.states import WorkspaceEventKind as Kind
from dashboard.errors import Conflict
from dashboard.models import Identity

# The provider of people whom a directory keeps through SCIM; others are issuers, with https://.
SCIM: Final = "scim"
# The same of people whom the directory has removed: their accounts wait, disabled.
LEFT: Final = "scim:left"
TABLE: Final = "gp_identity"


def user_of(provider: str, subject: str) -> Any:
    """The account of somebody whom a provider calls `subject`; None where there is none."""
    row = Identity.objects.select_related("user").filter(provider=provider, subject=subject).first()
    return None if row is None else row.user


def users_of(provider: str) -> Any:
    """The accounts that a provider knows, as a queryset."""
    ids = Identity.objects.filter(provider=provider).values("user_id")
    return get_user_model()._default_manager.filter(pk__in=ids)


def subjects_of(provider: str, user_ids: Iterable[int]) -> dict[int, str]:
    """{user id: what the provider calls them} of those whom it knows."""
    result = Identity.objects.filter(provider=provider, user_id__in=list(user_ids))
    return dict(result.values_list("user_id", "subject"))


def link(user: Any, provider: str, subject: str, *, actor: str) -> None:
    """Let a provider speak for an account, under this name of its own from now on.

    Raises Conflict where that name belongs to another account.
    """
    with transaction.atomic():
        row, former = Identity.objects.filter(provider=provider, user=user).first(), ""
        try:
            with transaction.atomic():
                if row is None:
                    workspace = queries.default_workspace()
                    row = Identity.objects.create(
                        workspace_id=workspace, user=user, provider=provider, subject=subject
                    )
                elif row.subject == subject:
                    return
                else:
                    former, row.subject = row.subject, subject
                    row.save(update_fields=["subject"])
        except IntegrityError as error:
            message = "The directory's name for this person belongs to another account."
            raise Conflict(message) from error
        _log(Kind.IDENTITY_LINKED, row, user, actor, ("subject",) if former else None)


def providers_of(user: Any) -> list[str]:
    """The providers that may speak for an account."""
    rows = Identity.objects.filter(user=user).order_by("provider")
    return list(rows.values_list("provider", flat=True))


def unlink(user: Any, provider: str, *, actor: str) -> bool:
    """Stop a provider from speaking for an account; False where it does not."""
    with transaction.atomic():
        row = Identity.objects.filter(provider=provider, user=user).first()
        if row is None:
            return False
        ident = row.pk
        row.delete()
        row.pk = ident
        _log(Kind.IDENTITY_UNLINKED, row, user, actor, ())
    return True


def _log(kind: Kind, row: Any, user: Any, actor: str, columns: tuple[str, ...] | None) -> None:
    store.log_setting(
        kind,
        row.workspace_id,
        data={"user": user.pk, "name": user.get_username(), "provider": row.provider},
        actor=actor,
        change=RowChange({TABLE: [row.pk]}, columns=columns),
    )
