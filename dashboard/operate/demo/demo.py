"""The demo: six people with random passwords, and threads that wait for one of them."""

import os
import secrets
from pathlib import Path
from typing import Any

from django.contrib.auth import get_user_model
from django.db import transaction
from sesame.utils import get_query_string

from checkpoints import store
from checkpoints.states import WorkspaceEventKind
from dashboard.identity.demo_people import MAIL_DOMAIN
from dashboard.identity.passwords import random_hash
from dashboard.identity.permissions import actor_of
from dashboard.threads.start import start_thread

# name: role
PEOPLE = {
    "operator": "operator",
    "manager": "reviewer",
    "manager2": "reviewer",
    "manager3": "reviewer",
    "auditor": "auditor",
    "admin": "admin",
}
ACTOR = "command:up"


def logins_exist() -> bool:
    """True if this database has demo users who may sign in."""
    people = get_user_model().objects
    return people.filter(email__endswith=f"@{MAIL_DOMAIN}", is_active=True).exists()


def anyone_exists() -> bool:
    """True if anybody may sign in."""
    return get_user_model().objects.filter(is_active=True).exists()


def create_logins(path: Path) -> None:
    """Create the demo users that are missing and note their passwords in the file `path`."""
    model = get_user_model()
    known = set(model.objects.filter(username__in=PEOPLE).values_list("username", flat=True))
    lines = []
    for name, role in PEOPLE.items():
        if name in known:
            continue
        password = secrets.token_urlsafe(12)
        with transaction.atomic():
            workspace = store.ensure_workspace("default", actor=ACTOR)
            user = model.objects.create(
                username=name, email=f"{name}@{MAIL_DOMAIN}", password=random_hash(password)
            )
            store.log_user(
                WorkspaceEventKind.USER_CREATED,
                user.pk,
                name=name,
                changed={},
                actor=ACTOR,
                workspace=workspace,
            )
            store.grant(workspace, user.pk, role, actor=ACTOR)
        lines.append(f"{name}  {password}\n")
    if lines:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        with os.fdopen(handle, "a") as file:
            file.writelines(lines)


def login_path(username: str) -> str:
    """A path that signs this user in once, within ten minutes.

    Raises the user model's DoesNotExist.
    """
    user = get_user_model().objects.get(username=username, is_active=True)
    return "/welcome/" + str(get_query_string(user))


# name: (agent, title, input). The names make a second start find them instead of starting again.
THREADS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "demo-flights": (
        "market-research",
        "What delays flights from New York?",
        {"dataset": "flights", "question": "What makes flights arrive late?"},
    ),
    "demo-weather": (
        "market-research",
        "How cold does it get at New York's airports?",
        {"dataset": "weather", "measure": "temp", "question": "When and where is it cold?"},
    ),
    "demo-invoices": (
        "payments",
        "Pay the invoices due in November",
        {"due_by": "2026-11-30"},
    ),
}


def seed() -> None:
    """Start the demo's threads, once per database; ActionError when an agent is missing."""
    user = get_user_model().objects.filter(username="operator", is_active=True).first()
    if user is None:
        return
    actor = actor_of(user)
    for name, (agent, title, value) in THREADS.items():
        start_thread(actor, agent=agent, input=value, title=title, name=name)
