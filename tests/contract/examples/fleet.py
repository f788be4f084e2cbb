"""The fleet: breakers, incidents, subscriptions, views, budgets."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from tests.contract.example_calls import ADMIN, NO_TOKEN, Call
from tests.contract.world import World

EXAMPLES: dict[str, Callable[[World], Call]] = {
    "breakers_list": lambda w: Call(),
    "breakers_retrieve": lambda w: Call({"breaker_id": str(w.breaker)}),
    "breakers_trip": lambda w: Call(
        body={"agent": "nobody", "labels": {"team": "eu"}, "reason": "prices are wrong"},
        who=("operator", "admin"),
        status=201,
    ),
    "breakers_release": lambda w: Call(
        {"breaker_id": str(w.breaker)},
        body={"reason": "prices are right"},
        who=("operator", "admin"),
    ),
    "incidents_list": lambda w: Call(
        query={"state": "open", "kind": "thread.failed", "limit": "5"}
    ),
    "incidents_retrieve": lambda w: Call({"incident_id": str(w.incident)}),
    "incidents_take": lambda w: Call(
        {"incident_id": str(w.incident)}, body={}, who=("operator", "manager", "admin")
    ),
    "incidents_give_back": lambda w: Call(
        {"incident_id": str(w.taken)},
        body={},
        who=("operator", "manager", "admin"),
        reach=("operator",),
    ),
    "incidents_snooze": lambda w: Call(
        {"incident_id": str(w.incident)},
        body={"until": (datetime.now(UTC) + timedelta(hours=4)).isoformat()},
        who=("operator", "manager", "admin"),
    ),
    "incidents_wake": lambda w: Call(
        {"incident_id": str(w.snoozed)}, body={}, who=("operator", "manager", "admin")
    ),
    "incidents_close": lambda w: Call(
        {"incident_id": str(w.incident)},
        body={"reason": "known since Monday"},
        who=("operator", "manager", "admin"),
    ),
    "subscriptions_list": lambda w: Call(),
    "subscriptions_retrieve": lambda w: Call(
        {"subscription_id": str(w.subscription)}, reach=("operator", "auditor")
    ),
    "subscriptions_make": lambda w: Call(
        body={
            "endpoint": str(w.mail),
            "kinds": ["thread.failed", "thread.stuck"],
            "agent": "research",
            "label": "team=eu",
            "urgent": True,
        },
        status=201,
    ),
    "subscriptions_change": lambda w: Call(
        {"subscription_id": str(w.subscription)}, body={"agent": "research"}, reach=("operator",)
    ),
    "subscriptions_remove": lambda w: Call(
        {"subscription_id": str(w.subscription)}, body={}, reach=("operator",)
    ),
    "quiet_hours_retrieve": lambda w: Call(),
    "quiet_hours_set": lambda w: Call(
        body={"hours": {"begins": "22:00", "ends": "07:00", "zone": "Europe/Berlin"}}
    ),
    "views_list": lambda w: Call(),
    "views_retrieve": lambda w: Call({"view_id": str(w.view)}),
    "views_save": lambda w: Call(
        body={
            "name": "My failed payments",
            "address": "status=failed&q=agent:payments&columns=cost,idle",
            "shared": True,
        },
        status=201,
    ),
    "views_change": lambda w: Call(
        {"view_id": str(w.view)}, body={"name": "Failed"}, reach=("operator",)
    ),
    "views_remove": lambda w: Call({"view_id": str(w.view)}, body={}, reach=("operator",)),
    "budgets_list": lambda w: Call(),
    "budgets_set": lambda w: Call(
        body={"scope": "team", "name": "growth", "max_cost": "250", "at_full": "stop"},
        who=ADMIN,
        reach=NO_TOKEN,
    ),
    "memories_list": lambda w: Call(query={"q": "paid", "scope": "workspace", "limit": "5"}),
    "memories_retrieve": lambda w: Call({"memory_id": str(w.memory)}),
    "memories_remember": lambda w: Call(
        body={
            "text": "Weber is paid within 30 days.",
            "scope": "agent",
            "owner": "research",
            "outside": True,
            "expires_in": 86400,
        },
        who=("operator",),
        status=201,
    ),
    "memories_correct": lambda w: Call(
        {"memory_id": str(w.memory)},
        body={"text": "Weber is paid within 14 days.", "reason": "New terms", "revision": 1},
        who=("operator",),
    ),
    "memories_forget": lambda w: Call(
        {"memory_id": str(w.memory)}, body={"reason": "It is wrong"}, who=("operator",)
    ),
    "memories_forget_after": lambda w: Call(
        body={"thread": str(w.ended), "checkpoint": str(w.first), "reason": "A test"},
        who=("operator",),
    ),
    "overview_retrieve": lambda w: Call(query={"period": "24h", "agent": "research"}),
}
