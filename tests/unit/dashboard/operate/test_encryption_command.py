"""`encryption`: secrets of hooks and endpoints under the newest key, row by row, with proof."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest
from django.db import connection

from approvals.hooks import deliveries
from approvals.hooks.stored_secrets import ENDPOINT_ADDRESS, ENDPOINT_SECRETS, HOOK_SECRETS
from approvals.notify import due_deliveries, endpoints
from approvals.notify.delivery import prepared
from approvals.notify.endpoints import Wanted
from approvals.notify.fan_out import spread
from approvals.notify.texts.kinds import NotDelivered
from approvals.verification.proof import workspace_report
from checkpoints import store
from checkpoints.encryption.columns import columns
from checkpoints.encryption.keys import new_key
from checkpoints.models.threads import WorkspaceEvent
from dashboard.administration import hooks
from dashboard.administration.hooks import RotateHook
from tests.support.cast import Cast
from tests.unit.dashboard import hooking
from tests.unit.dashboard.carried import run

pytestmark = [pytest.mark.django_db, pytest.mark.requirement("G09")]
TARGET = "https://agent.example/in/P4TH-0F-THE-0NE"


@pytest.fixture
def rows(cast: Cast) -> tuple[Cast, UUID, UUID]:
    """A hook with two secrets, an endpoint with two and an address."""
    who = cast.actor("admin")
    hook = hooking.created(who, "slack")
    hooks.ROTATE.run(who, RotateHook(), hook.id)
    made, _ = endpoints.make(
        cast.workspace, "webhook", Wanted(name="a", target=TARGET), actor=who.id
    )
    endpoints.rotate(made, workspace=cast.workspace, actor=who.id)
    return cast, hook.id, made


def dump() -> str:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT (SELECT string_agg(h::text, '') FROM gp_hook h) || "
            "(SELECT string_agg(e::text, '') FROM gp_endpoint e)"
        )
        return str(cursor.fetchone()[0])


def stored_plain(hook: UUID, endpoint: UUID) -> list[str]:
    """Put the secrets back as a former version stored them."""
    presented = deliveries.presented(hook)
    assert presented is not None
    with connection.cursor() as cursor:
        cursor.execute("SELECT address, secrets -> 0 ->> 'secret' FROM gp_endpoint")
        address, secret = cursor.fetchone()
        plain = [
            *presented.secrets,
            ENDPOINT_ADDRESS.decrypt(address, endpoint),
            ENDPOINT_SECRETS.decrypt(secret, endpoint),
        ]
        cursor.execute(
            "UPDATE gp_hook SET secrets = jsonb_set(jsonb_set(secrets, '{0,secret}', "
            "to_jsonb(%s::text)), '{1,secret}', to_jsonb(%s::text))",
            plain[:2],
        )
        cursor.execute(
            "UPDATE gp_endpoint SET address = %s::text, secrets = jsonb_set(secrets, "
            "'{0,secret}', to_jsonb(%s::text))",
            plain[2:],
        )
    return plain


def test_rotate_encrypts_everything_anew_and_verify_agrees(
    rows: tuple[Cast, UUID, UUID], settings: Any
) -> None:
    cast, hook, _ = rows
    before = deliveries.presented(hook)
    old, new = new_key(), new_key()
    for keys, count in (((old,), 5), ((old,), 0), ((new, old), 5)):
        settings.GATEPOST_ENCRYPTION_KEYS = keys
        code, answer, _ = run("encryption", "rotate")
        assert (code, answer["rotated"]) == (0, count)
        assert workspace_report(cast.workspace, {}).intact
    settings.GATEPOST_ENCRYPTION_KEYS = (new,)  # the old one is gone
    settings.SECRET_KEY = "another" * 10
    after = deliveries.presented(hook)
    assert before is not None
    assert after is not None
    assert after.secrets == before.secrets
    status = run("encryption", "status")[1]
    assert (status["newest"], status["older"], status["plain"], status["unreadable"]) == (
        5,
        0,
        0,
        0,
    )
    events = [e.kind for e in store_events(cast)]
    assert events.count("secrets.encrypted") == 6  # three columns, twice


def store_events(cast: Cast) -> list[Any]:
    return list(WorkspaceEvent.objects.filter(workspace_id=cast.workspace).order_by("seq"))


def test_a_rotation_that_is_interrupted_goes_on(
    rows: tuple[Cast, UUID, UUID], settings: Any
) -> None:
    settings.GATEPOST_ENCRYPTION_KEYS = (new_key(),)

    def stop(_done: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        store.reencrypt(actor="command", seen=stop)
    half = store.stored_secrets()
    assert 0 < half.newest < 5
    assert store.reencrypt(actor="command") == 5 - half.newest
    assert store.stored_secrets().newest == 5


def test_secrets_of_a_former_version_work_and_are_encrypted(
    rows: tuple[Cast, UUID, UUID],
) -> None:
    cast, hook, endpoint = rows
    plain = stored_plain(hook, endpoint)
    presented = deliveries.presented(hook)
    assert presented is not None
    assert list(presented.secrets) == plain[:2]
    assert all(one in dump() for one in plain)
    assert run("encryption", "status")[1]["plain"] == 4
    code, _, _ = run("encryption", "rotate")
    assert code == 0
    assert not any(one.removeprefix("whsec_") in dump() for one in plain)
    # A save that is about something else leaves the ciphertext: verify would see another.
    endpoints.switch(endpoint, False, workspace=cast.workspace, actor="user:1")
    endpoints.change(
        endpoint, Wanted(name="b", target=TARGET), workspace=cast.workspace, actor="user:1"
    )


def test_a_missing_key_is_said_and_loses_nothing(
    rows: tuple[Cast, UUID, UUID], settings: Any
) -> None:
    cast, hook, endpoint = rows
    endpoints.try_out(endpoint, workspace=cast.workspace, actor="user:1")
    spread()
    secret_key, settings.SECRET_KEY = settings.SECRET_KEY, "another" * 10
    presented = deliveries.presented(hook)
    assert presented is not None
    assert presented.secrets == ()
    claimed = due_deliveries.claim()
    assert claimed is not None
    with pytest.raises(NotDelivered, match="GATEPOST_ENCRYPTION_KEYS") as error:
        prepared(claimed)
    assert not error.value.final
    code, answer, _ = run("encryption", "rotate")
    assert (code, answer["unreadable"], answer["rotated"]) == (1, 5, 0)
    code, answer, _ = run("doctor")
    findings = {f["name"]: f for f in answer["findings"]}
    assert findings["stored secrets"]["level"] == "wrong"
    settings.SECRET_KEY = secret_key
    assert run("encryption", "rotate")[0] == 0
    assert HOOK_SECRETS in list(columns())


def test_new_key_prints_a_key_that_settings_take(settings: Any) -> None:
    code, answer, _ = run("encryption", "new-key")
    assert code == 0
    settings.GATEPOST_ENCRYPTION_KEYS = (answer["key"],)
    assert store.stored_secrets().total >= 0
