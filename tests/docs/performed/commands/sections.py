"""What the lines of docs/howto/commands.md need: who types them, and what their names stand for."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import UUID

from django.core.management import call_command

from checkpoints import queries, store
from checkpoints.states import EventKind
from tests.contract.example_calls import next_node
from tests.contract.things import ISSUER, make_access_change, make_erasure, make_token
from tests.contract.world import World, changed_code
from tests.unit.checkpoints.builders import new_activity, one
from tests.unit.dashboard import scene

type Names = dict[str, Any]
type Make = Callable[[World], Names]

PROCESSES = "starts servers: tests/faults/embedded and tests/browser/howtos"
NETWORK = "asks a service outside"
YES = "--yes"


@dataclass(frozen=True)
class Section:
    """How the lines of a section are performed; keys are beginnings of lines, the longest counts.

    who: who types them. people: who else. names: what names stand for, `""` in all lines. codes:
    exit codes other than 0. more: words behind the line. left_out: reasons.
    """

    who: str = "operator"
    people: dict[str, str] = field(default_factory=dict)
    names: dict[str, Make] = field(default_factory=dict)
    codes: dict[str, int] = field(default_factory=dict)
    more: dict[str, str] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)


def lived(w: World) -> UUID:
    """A finished thread of three steps with a recorded answer."""
    work = scene.lease(scene.start(w.cast.workspace, w.agent))
    scene.step(work, report="one")
    store.record_activity(work, new_activity(work, "look_up#0"), result="yes")
    scene.step(work, report="two")
    scene.step(work, report="three", leave_by=EventKind.THREAD_SUCCEEDED)
    return work.thread


def answered(w: World) -> Names:
    """Such a thread, and the call that was answered."""
    thread = lived(w)
    return {"demo-flights": thread, "CALL": queries.activities(thread)[0].id}


def failed(w: World) -> UUID:
    """A failed thread."""
    work = scene.lease(scene.start(w.cast.workspace, w.agent))
    scene.step(work, report="half", leave_by=EventKind.THREAD_FAILED)
    return work.thread


def skippable(w: World) -> Names:
    thread = failed(w)
    return {"demo-flights": thread, "chart": next_node(thread)}


def edited(w: World) -> Names:
    """A state that somebody changed in an editor."""
    thread = scene.waiting(w.cast.workspace, w.agent).thread
    with Path("state.yaml").open("w") as file:
        call_command("threads", "state", str(thread), "--yaml", "--as", "operator", stdout=file)
    text = Path("state.yaml").read_text()
    Path("state.yaml").write_text(text.replace("goal: delays", "goal: weather"))
    return {"demo-flights": thread}


def started_by_file(w: World) -> Names:
    Path("input.json").write_text(json.dumps({"goal": "delays"}))
    return {"market-research": "research"}


def ended(w: World) -> UUID:
    """A thread that nothing holds."""
    thread = scene.start(w.cast.workspace, w.agent)
    store.cancel(thread, actor="user:0")
    return thread


def drafted(name: str) -> Make:
    """A file with a policy of this name."""

    def make(w: World) -> Names:
        Path("mails.json").write_text(json.dumps({"name": name, "condition": "tool == 'mail'"}))
        return {}

    return make


def make_request(w: World, **more: Any) -> Names:
    """A new request, by the beginning of its id."""
    row = scene.waiting(w.cast.workspace, w.agent, **more)
    return {"0199a3": row.id}


def exported(w: World) -> Names:
    thread = lived(w)
    call_command(
        "export", str(thread), "--checkpoint", "2", "--to", "there.zip", "--as", "operator"
    )
    return {"second.zip": "there.zip"}


def watched(w: World) -> Names:
    Path("sessions").mkdir(exist_ok=True)
    step = {"session_id": "s-1", "step": "researching", "status": "running", "artifacts": []}
    Path("sessions/s-1.json").write_text(json.dumps(step))
    return {}


def some_payments(w: World) -> Names:
    """Threads that a breaker of their agent stops."""
    agent = scene.make_agent("payments")
    for _ in range(12):
        scene.start(w.cast.workspace, agent)
    return {}


def newest_breaker(w: World) -> UUID:
    """The one that was tripped last."""
    result: UUID = one("SELECT id FROM gp_breaker WHERE closed_at IS NULL ORDER BY id DESC LIMIT 1")
    return result


def of(name: str, which: Callable[[World], Any]) -> Make:
    return lambda w: {name: which(w)}


def waiting(w: World) -> UUID:
    return scene.waiting(w.cast.workspace, w.agent).thread


RESEARCH: Make = lambda _: {"market-research": "research", "question": "goal"}  # noqa: E731
FLIGHTS = of("demo-flights", lived)
NO_ISSUER = f"--issuer {ISSUER}"
SERVER = "asks the server: tests/unit/dashboard/gateway/calls/test_howto.py"

SECTIONS: dict[str, Section] = {
    "": Section(
        left_out={
            "gatepost up": PROCESSES,
            "./manage.py help": "Django's own",
        },
        names={"COMMAND --help": lambda _: {"COMMAND": "threads"}},
        codes={"doctor": 1},  # no worker is running
    ),
    "What all commands share": Section(),
    "up": Section(left_out={"make up": PROCESSES, "./manage.py up": PROCESSES}),
    "demo": Section(
        left_out={"make demo": PROCESSES, "./manage.py demo": PROCESSES, "up --fleet": PROCESSES}
    ),
    "threads": Section(
        people={"threads diff": "auditor", "threads reveal": "auditor"},
        names={
            "": lambda w: RESEARCH(w) | FLIGHTS(w),
            "threads reveal": lambda w: {"case-17": w.encrypted, "diagnosis": "note"},
            "threads start market-research --input": started_by_file,
            "threads pause": of("demo-flights", lambda w: w.queued),
            "threads move-up": of("demo-flights", lambda w: w.queued),
            "threads resume": of("demo-flights", lambda w: w.paused),
            "threads retry": of("demo-flights", failed),
            "threads skip": skippable,
            "threads settle": of("order-17", lambda w: w.asking[0]),
            "threads cancel demo-flights": of("demo-flights", waiting),
            "threads cancel order-17": of("order-17", waiting),
            "threads code": of("demo-flights", lambda w: changed_code(w.cast, w.agent)),
            "threads edit demo-flights --set": of("demo-flights", waiting),
            "threads edit demo-flights --from": edited,
            "threads fork demo-flights --instead-of": answered,
        },
        more={
            "threads edit demo-flights --from": YES,
            "threads rollback demo-flights 2 --reason": YES,
            "threads cancel order-17 --undo --undo-unknown": YES,
        },
    ),
    "approve": Section(
        who="manager",
        names={
            "": make_request,
            "approve 0199a3 --verdict respond --args": lambda w: make_request(
                w, kind="question", tool=""
            ),
            "approve 0199a3 --take-back": of("0199a3", lambda w: w.held.id),
        },
    ),
    "token": Section(
        who="",
        names={"token revoke": of("k3x9mq2p", lambda w: make_token(w.cast, "operator"))},
    ),
    "user": Section(
        who="admin",
        more={"user link": NO_ISSUER, "user unlink": NO_ISSUER},
        left_out={"./manage.py user remove-second-factor": "performed by test_sign_in.py"},
    ),
    "access": Section(who="admin", names={"": of("CHANGE", lambda w: make_access_change(w.cast))}),
    "workspace": Section(who="admin"),
    "record": Section(who="auditor", names={"record report": of("ID", lambda w: w.held.id)}),
    "erase": Section(
        names={
            "": of("ID", ended),
            "erase approve": of("ERASURE", lambda w: w.erasure),
            "erase refuse": of("ERASURE", lambda w: make_erasure(w.cast.workspace)),
            "erase lift": of("ID", lambda w: w.on_hold),
        },
        people={"erase hold": "admin", "erase lift": "admin"},
    ),
    "index": Section(who=""),
    "retention": Section(who="admin", more={"retention set 90 --agent payments --archive": YES}),
    "incident": Section(
        names={
            "": of("ID", lambda w: w.incident),
            "incident give-back": of("ID", lambda w: w.taken),
            "incident wake": of("ID", lambda w: w.snoozed),
        }
    ),
    "memories": Section(
        names={
            "": of("ID", lambda w: w.memory),
            "memories forget-after": lambda w: {"THREAD": w.ended, "CHECKPOINT": w.first},
        }
    ),
    "vectors": Section(
        who="",
        left_out={
            "./manage.py vectors": "asks a server: tests/unit/dashboard/memories/test_vectors.py"
        },
    ),
    "device": Section(names={"": of("ID", lambda w: w.device)}),
    "deputy": Section(
        who="manager",
        people={"deputy name grace --until": "admin"},
        names={
            "": of("APPROVAL", lambda w: w.gate.id),
            "deputy remove": of("ID", lambda w: w.deputy),
        },
    ),
    "subscription": Section(names={"": of("ID", lambda w: w.subscription)}),
    "view": Section(
        people={'view save "ACME"': "auditor"},
    ),
    "breaker": Section(
        names={"breaker trip": some_payments, "breaker release": of("ID", newest_breaker)},
        more={'breaker trip --reason "prices are wrong" --agent payments': YES},
    ),
    "cap": Section(who="admin", names={"": RESEARCH}),
    "budget": Section(who="admin"),
    "overview": Section(who="auditor"),
    "endpoint": Section(who="admin"),
    "mcp": Section(  # with GATEPOST_MCP_COMMANDS, as mcp-gateway.md has it
        who="admin",
        names={
            "mcp accept": lambda _: {"github": "notes"},
            "mcp mode": lambda _: {"github": "notes", "delete_repo": "add"},
        },
        left_out={"./manage.py mcp tools": SERVER},
    ),
    "hook": Section(who="admin"),
    "login_link": Section(who=""),
    "createsuperuser, changepassword": Section(
        who="",
        names={"": lambda _: {"--data-dir /srv/gatepost": ""}},
        more={"createsuperuser": "--email r@e.example --noinput"},
        left_out={
            "./manage.py changepassword": "asks on a terminal: "
            "tests/unit/dashboard/people/test_login_commands.py"
        },
    ),
    "policy": Section(
        who="admin",
        names={
            "policy create": drafted("Letters"),
            "policy change Mails --draft": drafted("Mails"),
        },
    ),
    "agent": Section(
        who="",
        people={"agent list": "viewer", "agent show": "viewer"},
        names={
            "": RESEARCH,
            "agent check mine": lambda _: {"mine.agent": "tests.unit.workers.graphs.samples"},
            "agent impact mine": lambda _: {"mine.agent": "tests.unit.workers.graphs.samples"},
        },
        codes={
            "agent check --strict": 1,  # for the warnings about effects that cannot be undone
            "agent impact": 1,  # for the threads of agents that are not installed
            "agent impact mine.agent": 0,
        },
    ),
    "doctor": Section(
        names={"": FLIGHTS},
        codes={"doctor": 1, "doctor demo-flights": 0},  # no worker is running
    ),
    "copy_files": Section(
        left_out={"./manage.py copy_files": "tests/unit/dashboard/operate/test_copy_files.py"}
    ),
    "backup, restore": Section(
        left_out=dict.fromkeys(
            ("./manage.py backup", "./manage.py restore"), "tests/faults/servers/test_backup.py"
        )
    ),
    "encryption": Section(who=""),
    "sbom, advisories": Section(who="", left_out={"./manage.py advisories --refresh": NETWORK}),
    "verify, anchor": Section(
        who="",
        left_out={
            "./manage.py anchor --send": "performed by test_anchors.py",
            "./manage.py verify --anchors": "performed by test_anchors.py",
        },
    ),
    "export, import": Section(names={"": FLIGHTS, "import": exported}),
    "watch": Section(names={"": watched}),
    "migrate": Section(who=""),
    "reset": Section(
        left_out={"./manage.py reset": "deletes a data folder: tests/faults/embedded/test_up.py"}
    ),
    "make chaos": Section(
        left_out={"make chaos": "strikes for minutes: `make chaos`", "/tmp": "a folder"}
    ),
    "Recipes": Section(
        names={"": of("order-17", lived)},
        codes={"doctor": 1},  # no worker is running
    ),
}
