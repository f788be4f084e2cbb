"""The demo's people as actors, and the threads that they look after."""

from __future__ import annotations

from dataclasses import dataclass, replace

from django.contrib.auth import get_user_model

from checkpoints import queries
from checkpoints.views import ThreadRow
from dashboard.errors import Missing
from dashboard.identity.permissions import Actor, Grant, actor_of
from gatepost_command import START


@dataclass(frozen=True)
class Cast:
    """People who start, who decide, and who make the rules; `script` decides as the manager."""

    operator: Actor
    manager: Actor
    admin: Actor
    script: Actor

    def thread(self, name: str, agent: str) -> ThreadRow | None:
        """The thread of this name; None where it is not started yet."""
        return queries.thread_named(name, agent=agent, workspace=self.operator.workspace)


def demo_cast() -> Cast:
    """Read the demo's people; raises Missing where this database has none."""
    operator, manager, admin = (_actor(name) for name in ("operator", "manager", "admin"))
    workspace = (manager.workspace, manager.workspace_name)
    scopes = frozenset({"decide", "decide_high"})
    # The log says that a script decided, and no person waited for it.
    by_script = Grant("demo", "demo", *workspace, scopes, kind="script")
    script = replace(manager, grant=by_script, name=f"{manager.name} (script demo)")
    return Cast(operator, manager, admin, script)


def _actor(name: str) -> Actor:
    from dashboard.identity.demo_people import MAIL_DOMAIN

    people = get_user_model().objects
    user = people.filter(username=name, email=f"{name}@{MAIL_DOMAIN}", is_active=True).first()
    if user is None:
        raise Missing(f"This database has no demo user {name}: `{START}` makes them.")
    return actor_of(user)
