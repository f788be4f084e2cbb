"""Verbs of commands as entry points, and those for the host alone."""

from __future__ import annotations

import io
import json
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any
from uuid import uuid4

from django.core.management import call_command

from dashboard.administration import budgets, caps, hooks, retention
from dashboard.threads.capsule import export
from tests.contract.things import ISSUER, linked
from tests.contract.world import World
from tests.unit.dashboard import hooking
from tests.unit.dashboard.command_list import COMMANDS as ALL
from tests.unit.dashboard.command_list import command_named

from . import declared
from .admin_forms import MCP
from .entry import FORBIDDEN, MISSING, Entry, Knock, swapped

# Whoever may start these owns the machine: they ask for no role.
HOST = {
    "up": "starts the servers themselves",
    "reset": "deletes the data folder",
    "migrate": "changes the schema, under the role that owns it",
    "verify": "computes again, and notes what came out as the command's",
    "anchor": "reads every workspace's log",
    "index": "reads every workspace's log, and fills what is derived from it",
    "vectors": "counts, and fills a store with what no person reads",
    "encryption new-key": "stores nothing",
    "encryption status": "counts, and shows no secret",
    "encryption rotate": "needs the keys, which are in the environment of whoever starts it",
    "createsuperuser": "makes the first person",
    "changepassword": "lets a person in again",
    "login_link": "lets a person in",
    "workspace create": "makes one, with its first admin",
    "demo": "acts as the demo's own people, and only where they are",
    "token create": "what the user may, as a script",
    "token list": "names no secret",
    "token revoke": "ends one",
    "watch": "reads a folder of the machine; its threads cannot be controlled",
    "agent check": "reads code",
    "sbom": "reads the lock",
    "backup": "reads the whole database and all files, as their owner",
    "restore": "writes into an empty database and an empty file storage",
    "copy_files": "copies files between storages as they are",
    "advisories": "reads the lock, and writes a file of the data folder",
    "agent impact": "reads code",
}
LOOK = {
    *(f"threads {verb}" for verb in ("list", "show", "events", "checkpoints", "activities")),
    *("threads state", "threads diff", "agent list", "agent show", "doctor", "hook list"),
    *("policy list", "policy show", "policy try", "policy preview"),
    *(
        "user list",
        "user sign-ins",
        "workspace list",
        "cap list",
        "endpoint list",
        "mcp list",
        "breaker list",
    ),
    *("record search", "record report"),
    *("erase list", "erase preview", "erase holds", "retention list"),
    *("memories list", "memories show"),
    *("incident list", "incident show", "subscription list", "view list"),
    *("deputy list", "device list", "access list"),
    *("budget list", "overview"),
}
NEW_FILE = "@a file that is not there yet@"


def _file() -> str:
    return str(Path(tempfile.mkdtemp(prefix="gp-entry-")) / "kept.zip")


def _named(world: World, actor: str = "admin") -> str:
    return hooking.created(world.cast.actor(actor), f"entry-{uuid4().hex[:8]}").name


def _mapped(world: World) -> str:
    hooking.made(world.cast, name := f"entry-{uuid4().hex[:8]}", U1="manager")
    return name


def _unconfirmed(world: World) -> str:
    who = world.cast.actor("admin")
    hook = hooking.created(who, f"entry-{uuid4().hex[:8]}")
    hooks.map_identity(who, hook.id, "U1", world.cast.users["operator"].pk)
    return hook.name


def _capped(world: World) -> list[Any]:
    wanted = caps.SetCap(scope="agent", per="total", max_cost="9")
    caps.SET.run(world.cast.actor("admin"), wanted)
    return ["agent", "total"]


def _retained(world: World) -> list[Any]:
    retention.SET.run(world.cast.actor("admin"), retention.SetRetention(agent="nobody", days=30))
    return ["--agent", "nobody"]


def _budgeted(world: World) -> list[Any]:
    wanted = budgets.SetBudget(scope="agent", name="entry", max_cost="9")
    budgets.SET.run(world.cast.actor("admin"), wanted)
    return ["agent", "entry"]


def _linked(world: World) -> list[Any]:
    linked(world.cast, "viewer")
    return ["viewer", "--issuer", ISSUER]


def _drafted() -> str:
    path = Path(tempfile.mkdtemp(prefix="gp-entry-")) / "policy.json"
    path.write_text(
        json.dumps({"name": f"entry point {uuid4().hex[:8]}", "condition": "tool == 'pay'"})
    )
    return str(path)


# Of a declared action the line is made from the example of its call, unless it stands here.
COMMANDS: dict[str, Callable[[World], list[Any]]] = {
    **{words: partial(declared.line, words) for words in declared.command_lines()},
    "threads start": lambda w: ["research", "--set", "goal=delays"],
    "threads pause": lambda w: [w.queued],
    "threads reveal": lambda w: [w.encrypted, "note"],
    "threads many": lambda w: ["pause", "-q", str(w.queued), "--yes"],
    "threads input": lambda w: [w.inbox, '"and the rain"'],
    "threads cancel": lambda w: [w.queued],
    "threads settle": lambda w: [w.asking[0], "happened", "--reason", "seen"],
    "threads code": lambda w: [w.changed, "pin"],
    "threads edit": lambda w: [w.gate.thread, "--set", "goal=weather", "--reason", "typo"],
    "threads fork": lambda w: [w.ended, "--checkpoint", "1", "--set", "goal=weather"],
    "threads rollback": lambda w: [w.ended, "0", "--reason", "wrong", "--yes"],
    "approve": lambda w: [w.gate.id, "--verdict", "approve"],
    "export": lambda w: [w.ended, "--to", NEW_FILE],
    "import": lambda w: [_exported(w)],
    "hook create": lambda w: [f"entry-{uuid4().hex[:8]}"],
    "hook rotate": lambda w: [_named(w)],
    "hook enable": lambda w: [_named(w)],
    "hook disable": lambda w: [_named(w)],
    "hook map": lambda w: [_named(w), "U1", "manager"],
    "hook unmap": lambda w: [_mapped(w), "U1"],
    "hook confirm": lambda w: [_unconfirmed(w), "U1"],
    "user create": lambda w: [f"entry-{uuid4().hex[:8]}", "--role", "viewer"],
    "user roles": lambda w: ["viewer", "viewer,operator"],
    "user change": lambda w: ["viewer", "--email", "v@example.com"],
    "workspace second-factor": lambda w: ["operator"],
    "user disable": lambda w: ["viewer"],
    "user enable": lambda w: ["viewer"],
    "user sign-out": lambda w: ["operator"],
    "user remove-second-factor": lambda w: ["operator"],
    "user link": lambda w: ["viewer", "--subject", uuid4().hex, "--issuer", ISSUER],
    "user unlink": lambda w: _linked(w),
    "record export": lambda w: ["--to", NEW_FILE, "--q", "report"],
    "breaker trip": lambda w: ["--agent", "nobody", "--reason", "prices", "--yes"],
    "erase approve": lambda w: [w.erasure, "--yes"],
    "erase refuse": lambda w: [w.erasure, "--reason", "needed"],
    "retention off": lambda w: _retained(w),
    "incident snooze": lambda w: [w.incident, "--for", "4h"],
    "subscription create": lambda w: ["--endpoint", w.mail, "--kind", "thread.failed"],
    "subscription quiet": lambda w: ["--hours", "22:00-07:00"],
    "view save": lambda w: [f"entry point {uuid4().hex[:8]}", "--address", "status=failed"],
    "view change": lambda w: [w.view, "--name", "Failed"],
    "view remove": lambda w: [w.view],
    "deputy name": lambda w: ["second_manager", "--until", "2030-01-01", "--from", "2029-12-01"],
    "access confirm": lambda w: [w.access],
    "access refuse": lambda w: [w.access],
    "budget set": lambda w: ["workspace", "--cost", "2.50"],
    "budget off": lambda w: _budgeted(w),
    "cap off": lambda w: _capped(w),
    "endpoint change": lambda w: [w.hook, "--event", "approval.decided"],
    "endpoint rotate": lambda w: [w.hook],
    "endpoint enable": lambda w: [w.hook],
    "endpoint disable": lambda w: [w.hook],
    "mcp add": lambda w: [f"entry-{uuid4().hex[:8]}", "--url", MCP["url"]],
    "mcp change": lambda w: ["notes", "--no-active"],
    "mcp remove": lambda w: ["notes"],
    "mcp tools": lambda w: ["notes"],
    "mcp accept": lambda w: ["notes"],
    "mcp mode": lambda w: ["notes", "add", "ask"],
    "policy create": lambda w: [_drafted()],
    "policy change": lambda w: [w.policy, "--switch", "off"],
}
NO_THING = {words for words in declared.command_lines() if not declared.of_command(words).target}
NO_THING |= {"threads start", "import", "hook create", "user create", "cap off"}
NO_THING |= {"policy create", "record export", "retention off", "view save"}
NO_THING |= {"workspace second-factor", "budget off", "threads many"}

# Named by a name that each workspace may have once.
NO_THING |= {"mcp add", "mcp change", "mcp remove", "mcp tools", "mcp accept", "mcp mode"}

# Enabling what is enabled changes nothing, and what is here is not brought in again.
IDLE = {"hook enable", "import", "user enable", "endpoint enable"}

# A trial only answers what would match; one policy alone has one place.
IDLE |= {"policies_try", "external_check", "policy_move"}

# Who may read may ask: all that is written is the question with its answer, on record.
READERS = {"questions", "records_ask", "ask_records", "record ask"}

# Things of the operator: everybody may have such a one; who comes in by the entry to this one.
THE_OPERATORS = dict.fromkeys(
    (
        *("subscription", "subscription_remove", "subscriptions_change", "subscriptions_remove"),
        *("subscription change", "subscription remove"),
        *("view", "view_remove", "views_change", "views_remove", "view change", "view remove"),
    ),
    ("operator", "admin"),
)
THE_OPERATORS |= {"second_factor_add": ("manager",), "second_factor_remove": ("operator",)}
THE_OPERATORS |= {"passkey_remove": ("operator",)}
THE_OPERATORS |= dict.fromkeys(
    ("identity_confirm", "identities_confirm", "hook confirm"), ("operator",)
)
THE_OPERATORS |= dict.fromkeys(("sign_in_end", "sign_ins_end"), ("operator",))

# An admin names deputies for reviewers only, and is none.
THE_OPERATORS |= dict.fromkeys(("device_remove", "devices_remove", "device remove"), ("operator",))
THE_OPERATORS |= dict.fromkeys(("deputies", "deputies_name", "deputy name"), ("manager",))
THE_OPERATORS |= dict.fromkeys(
    ("incident_give_back", "incidents_give_back", "incident give-back"), ("operator",)
)


def _exported(world: World) -> str:
    path = _file()
    capsule = export(world.cast.actor("operator"), world.ended)
    Path(path).write_bytes(b"".join(capsule.chunks()))
    return path


def command(name: str, world: World, foreign: bool) -> Knock:
    """Call a command as a person."""
    words = [str(word) for word in COMMANDS[name](world)]
    if foreign:
        words = [swapped(world, word) for word in words]
        if name.startswith("hook "):
            words[0] = _named(world, "stranger")
        if name.startswith("user "):
            words[0] = "stranger"

    def knock(who: str | None) -> str:
        err = io.StringIO()
        try:
            values = [_file() if word == NEW_FILE else word for word in words]
            call_command(*name.split(), *values, "--as", who, stdout=io.StringIO(), stderr=err)
        except SystemExit as ended:
            text = err.getvalue()
            if ended.code == 3:
                return MISSING
            denied = "Needs the role" in text or "not a member" in text
            return FORBIDDEN if ended.code == 1 and denied else f"exit {ended.code}: {text}"
        return "in"

    return knock


def commands() -> Iterator[Entry]:
    for name in COMMANDS:
        yield Entry(
            "command",
            name,
            partial(command, name),
            names_things=name not in NO_THING,
            nobody=False,
        )


def verbs() -> set[str]:
    """Every verb of every command of ours."""
    results = set()
    for name in ALL:
        known = getattr(command_named(name), "verbs", ())
        results |= {f"{name} {verb.name}" for verb in known} or {name}
    return results
