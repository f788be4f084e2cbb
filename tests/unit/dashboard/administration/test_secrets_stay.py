"""A secret of an endpoint or a hook is shown once: no page, answer, file or line has it after."""

from __future__ import annotations

import html
import logging
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from django.contrib import admin
from django.db import connection
from django.urls import reverse

from approvals.hooks import deliveries
from approvals.notify import due_deliveries, endpoints
from approvals.notify.channels import addresses
from approvals.notify.endpoints import Wanted
from approvals.notify.fan_out import spread
from approvals.notify.models import Endpoint
from dashboard.administration import hooks
from dashboard.administration.hooks import RotateHook
from dashboard.configuration.logs import logging_config
from tests.support.cast import Cast
from tests.support.logs import logged_by
from tests.unit.dashboard import hooking, scene
from tests.unit.dashboard.carried import run

pytestmark = pytest.mark.django_db
CHAT = "slack://T0KENA1234/T0KENB1234/T0KENC123456789012345678/#payments"
ADDRESS = "https://agent.example/in/P4TH-0F-THE-0NE"
# They are there as ciphertext: a signature can be made and checked with nothing less.
ENCRYPTED_IN = {"gp_endpoint", "gp_hook"}


@pytest.fixture
def stored(cast: Cast) -> tuple[Cast, list[str], UUID]:
    """Endpoints and a hook with old and new secrets, news on its way; secrets and a thread."""
    who, workspace = cast.actor("admin"), cast.workspace
    webhook = Wanted(name="a", target=ADDRESS)
    made, first = endpoints.make(workspace, "webhook", webhook, actor=who.id)
    endpoints.make(workspace, "apprise", Wanted(name="b", target=CHAT), actor=who.id)
    second = endpoints.rotate(made, workspace=workspace, actor=who.id)
    hook = hooking.created(who, "slack")
    fourth = hooks.ROTATE.run(who, RotateHook(), hook.id).secret
    row = scene.waiting(workspace, scene.make_agent())
    endpoints.try_out(made, workspace=workspace, actor=who.id)
    spread()
    secrets = [one.removeprefix("whsec_") for one in (first, second, hook.secret, fourth)]
    return cast, [*secrets, "T0KENA1234", "T0KENC1234", "P4TH-0F-THE-0NE"], row.thread


def shown(text: str, secrets: list[str]) -> list[str]:
    """Which of them stand in a text, as they are or as HTML writes them."""
    plain = html.unescape(text)
    return [one for one in secrets if one in plain]


@pytest.mark.slow
def test_no_page_of_the_records_has_them(stored: tuple[Cast, list[str], UUID]) -> None:
    cast, secrets, _ = stored
    looked = 0
    for who in ("auditor", "admin"):
        client = cast.client(who)
        assert client.get("/admin/").status_code == 200
        for model, made in admin.site._registry.items():
            name = f"admin:{model._meta.app_label}_{model._meta.model_name}"
            pages = [reverse(f"{name}_changelist")]
            for row in model._default_manager.all()[:20]:
                address = getattr(made, "url_of", None)
                pages.append(address(row) if address else reverse(f"{name}_change", args=[row.pk]))
            for page in pages:
                answer = client.get(page)
                assert answer.status_code in (200, 403, 404), page  # another workspace has some
                looked += answer.status_code == 200
                assert shown(answer.content.decode(), secrets) == [], (who, page)
    assert looked > 60


@pytest.mark.slow
def test_no_answer_of_the_api_has_them(stored: tuple[Cast, list[str], UUID]) -> None:
    cast, secrets, thread = stored
    client = cast.client("admin")
    (one, _) = client.get("/api/v1/endpoints/").json()["results"]
    (hook,) = client.get("/api/v1/hooks/").json()["results"]
    paths = ("endpoints/", f"endpoints/{one['id']}/", f"hooks/{hook['id']}/", "policies/")
    for path in (*paths, f"threads/{thread}/", "hooks/"):
        answer = client.get(f"/api/v1/{path}")
        assert answer.status_code == 200, path
        assert shown(answer.content.decode(), secrets) == [], path
    # Refused, a call does not repeat what it was told either.
    for body in ({"kind": "apprise", "name": "b", "target": CHAT}, {"target": f"{ADDRESS} x"}):
        answer = client.post("/api/v1/endpoints/", body, content_type="application/json")
        assert answer.status_code == 422
        assert shown(answer.content.decode(), secrets) == [], answer.content
    assert shown(client.get("/api/schema/").content.decode(), secrets) == []


def test_no_command_and_no_capsule_has_them(
    stored: tuple[Cast, list[str], UUID], tmp_path: Path
) -> None:
    _cast, secrets, thread = stored
    for words in (("hook", "list", "--as", "admin"), ("doctor",)):
        _, answer, errors = run(*words)
        assert shown(f"{answer} {errors}", secrets) == [], words
    code, _, errors = run("export", str(thread), "--to", str(tmp_path / "c.zip"), "--as", "auditor")
    assert code == 0, errors
    raw = (tmp_path / "c.zip").read_bytes().decode("utf-8", "replace")
    assert shown(raw, secrets) == []


def test_no_table_has_them(stored: tuple[Cast, list[str], UUID]) -> None:
    _, secrets, _ = stored
    results = set()
    tables = connection.introspection.table_names()
    assert set(tables) > ENCRYPTED_IN
    with connection.cursor() as cursor:
        for table in tables:
            cursor.execute(f'SELECT x::text FROM "{table}" x')
            if any(shown(text.replace("\\", ""), secrets) for (text,) in cursor.fetchall()):
                results.add(table)
    assert results == set()


def test_nothing_that_holds_them_says_so(stored: tuple[Cast, list[str], UUID]) -> None:
    """What ends up in the text of an exception or in a line is the `repr` of a value."""
    cast, secrets, _ = stored
    with connection.cursor() as cursor:
        cursor.execute("SELECT id FROM gp_hook")
        (hook,) = cursor.fetchone()
        cursor.execute("SELECT id FROM gp_endpoint")
        places = [ident for (ident,) in cursor.fetchall()]
    presented = deliveries.presented(hook)
    assert presented is not None
    assert presented.secrets
    held: list[Any] = [presented, addresses.parse(ADDRESS), Wanted(target=CHAT)]
    held += Endpoint.objects.filter(workspace_id=cast.workspace, pk__in=places)
    claimed = due_deliveries.claim()
    assert claimed is not None
    held.append(claimed)
    for one in held:
        assert shown(repr(one), secrets) == [], type(one)


def test_libraries_that_speak_to_chats_tell_no_paths(capfd: pytest.CaptureFixture[str]) -> None:
    """Apprise's transport writes the path of each call at DEBUG, and of odd answers as warnings."""
    with logged_by(logging_config(level="DEBUG", form="json")):
        logger = logging.getLogger("urllib3.connectionpool")
        logger.debug('%s://%s "%s %s"', "https", "hooks.slack.com", "POST", "/services/T0KENA1234")
        logger.warning("Failed to parse headers (url=%s)", "https://x/services/T0KENA1234")
        logging.getLogger("gatepost").debug("heard")
    output = capfd.readouterr().err
    assert "heard" in output
    assert "T0KENA1234" not in output
