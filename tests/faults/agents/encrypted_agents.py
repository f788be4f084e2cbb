"""An agent whose encrypted channel passes a gate, a failure and a retry; the patient is plain."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Annotated, Any

from gatepost import END, Context, Encrypted, Gate, Graph, State, progress, tool

log = logging.getLogger("encrypted_agents")
PRIVATE = Encrypted(readers=("auditor",))


class Case(State):
    folder: str
    patient: str
    diagnosis: Annotated[str, PRIVATE] = ""
    findings: Annotated[dict[str, Any], PRIVATE] = {}


case = Graph("private-case", Case)


def look_up(patient: str) -> str:
    log.warning("looks for %s", patient)
    progress(1, 2, f"the file of {patient}")
    return f"the file of {patient}"


@tool("case.send", idempotent=True)
def send(patient: str, *, key: str) -> str:
    return f"a letter to {patient}"


@case.node(then="inform")
def read(state: Case, ctx: Context) -> dict[str, Any]:
    ctx.activity(look_up, state.patient)
    ctx.think(f"{state.patient} has a diagnosis of {len(state.diagnosis)} letters")
    ctx.artifact("letter.txt", f"Dear {state.patient}".encode(), "text/plain")
    return {"diagnosis": state.diagnosis, "findings": {"of": [state.diagnosis] * 50, "n": 1}}


@case.node(then="treat")
def inform(state: Case, ctx: Context) -> dict[str, Any]:
    gate = Gate(f"Write to {state.patient}?", risk="low")
    ctx.effect(send, {"patient": state.patient}, gate=gate)
    return {}


@case.node(then=END)
def treat(state: Case, ctx: Context) -> dict[str, Any]:
    if not Path(state.folder, "mended").exists():
        # The reason of a failure quotes the value, as those of libraries do.
        raise RuntimeError(f"{state.patient}: cannot treat {state.diagnosis!r}")
    assert state.findings["of"] == [state.diagnosis] * 50
    return {"findings": {"of": state.diagnosis, "n": 2}}
