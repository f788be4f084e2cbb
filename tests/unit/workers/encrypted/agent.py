"""An agent with encrypted channels: a diagnosis that its nodes read, rewrite and hand on."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AfterValidator

from gatepost import END, Append, Context, Encrypted, Graph, State

WORD = "strictly-private-91c4"
NEWER = "another-secret-word-77ab"


def spelled(value: str) -> str:
    if "wrong" in value:
        raise ValueError(f"{value} is not a diagnosis")
    return value


class Case(State):
    patient: str
    diagnosis: Annotated[str, AfterValidator(spelled), Encrypted(readers=("admin", "auditor"))] = (
        "unknown"
    )
    findings: Annotated[dict[str, Any], Encrypted(readers=("auditor",))] = {}
    log: Annotated[list[str], Append()] = []
    inbox: Annotated[list[str], Append()] = []


def graph_of(**more: Any) -> Graph:
    """read -> treat -> close, with a stop before the last one by its own pause."""
    graph = Graph("case", Case, message_channel="inbox", **more)

    @graph.node(then=["treat", "beside"])
    def read(state: Case, ctx: Context) -> dict[str, Any]:
        assert isinstance(state.diagnosis, str)
        return {"log": [f"{len(state.diagnosis)} letters"], "diagnosis": state.diagnosis}

    @graph.node(then="close")
    def treat(state: Case, ctx: Context) -> dict[str, Any]:
        ctx.think("a thought that says nothing of it")
        return {"findings": {"of": state.diagnosis, "n": 1}}

    @graph.node(then="close")
    def beside(state: Case, ctx: Context) -> dict[str, Any]:
        return {"log": ["beside"]}

    @graph.node(then=lambda state: END if state.findings["n"] else "read", ways=[END, "read"])
    def close(state: Case, ctx: Context) -> dict[str, Any]:
        assert state.findings["of"] == state.diagnosis
        return {"log": ["closed"]}

    return graph
