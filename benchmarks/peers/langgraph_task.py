"""LangGraph with PostgresSaver: one message a step; every checkpoint a full copy, or DeltaChannel.

Asked `{address, steps, size, at, delta, reads}`; `at` are the steps to read, `delta` chooses the
channel. Durability is "sync": a step is stored before the next one begins, as Gatepost does it.
"""

from __future__ import annotations

import operator
import time
import uuid
from typing import Annotated, Any

from langgraph.channels.delta import DeltaChannel
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.graph import END, START, StateGraph
from probe import Probe, median_ms, serve, text
from typing_extensions import TypedDict

SNAPSHOT_EVERY = 50


class Full(TypedDict):
    """The list as one value that is copied into each checkpoint."""

    steps: int
    size: int
    log: Annotated[list[str], operator.add]


def _extended(state: list[str] | None, writes: Any) -> list[str]:
    results = list(state or ())
    for items in writes:
        results.extend(items)
    return results


class Delta(TypedDict):
    """The list as writes, with a full copy now and then."""

    steps: int
    size: int
    log: Annotated[list[str], DeltaChannel(_extended, snapshot_frequency=SNAPSHOT_EVERY)]


def graph_of(kind: type, saver: PostgresSaver) -> Any:
    """One node that goes round until the list is long enough."""

    def grow(state: Any) -> dict[str, Any]:
        return {"log": [text(len(state["log"]), state["size"])]}

    def next_node(state: Any) -> str:
        return END if len(state["log"]) >= state["steps"] else "grow"

    graph = StateGraph(kind)
    graph.add_node("grow", grow)
    graph.add_edge(START, "grow")
    graph.add_conditional_edges("grow", next_node, ["grow", END])
    return graph.compile(checkpointer=saver)


def answer(options: dict[str, Any]) -> dict[str, Any]:
    """Work the task once and measure it."""
    probe = Probe(options["address"])
    steps, size, reads = options["steps"], options["size"], options.get("reads", 11)
    with PostgresSaver.from_conn_string(options["address"]) as saver:
        saver.setup()
        graph = graph_of(Delta if options.get("delta") else Full, saver)
        _play(graph, 20, size)
        tenth = max(1, steps // 10)
        bytes_before = probe.bytes()
        _play(graph, tenth, size)
        bytes_tenth = probe.bytes() - bytes_before
        bytes_before, xids = probe.bytes(), probe.transactions()
        began = time.perf_counter()
        config = _play(graph, steps, size)
        seconds = time.perf_counter() - began
        xids, stored = probe.transactions() - xids, probe.bytes() - bytes_before
        results = {
            "steps": steps,
            "steps_per_second": steps / seconds,
            "bytes": stored,
            "bytes_of_a_tenth": bytes_tenth,
            "growth": stored / bytes_tenth,
            "write_transactions_per_step": xids / steps,
            "read_ms": {},
            "saver_ms": {},
        }
        if options.get("at"):
            configs = _configs_at(graph, config, set(options["at"]))
            for step in options["at"]:
                at = configs[step]
                assert len(graph.get_state(at).values["log"]) == step
                results["read_ms"][step] = median_ms(lambda at=at: graph.get_state(at), reads)
                results["saver_ms"][step] = median_ms(lambda at=at: saver.get_tuple(at), reads)
        if options.get("fork"):
            results |= _fork(graph, config, steps // 2, probe)
    return results


def _play(graph: Any, steps: int, size: int) -> dict[str, Any]:
    config = {"configurable": {"thread_id": str(uuid.uuid4())}, "recursion_limit": steps + 10}
    graph.invoke({"steps": steps, "size": size, "log": []}, config, durability="sync")
    return config


def _configs_at(graph: Any, config: dict[str, Any], wanted: set[int]) -> dict[int, dict[str, Any]]:
    """The addresses of checkpoints by how many messages they hold."""
    results: dict[int, dict[str, Any]] = {}
    for item in graph.checkpointer.list(config):
        step = item.metadata["step"]
        if step in wanted:
            results[step] = item.config
    return results


def _fork(graph: Any, config: dict[str, Any], step: int, probe: Probe) -> dict[str, Any]:
    earlier = _configs_at(graph, config, {step})[step]
    times, stored, xids = [], probe.bytes(), probe.transactions()
    rounds = 11
    for _ in range(rounds):
        began = time.perf_counter()
        graph.update_state(earlier, {"size": 500})
        times.append(time.perf_counter() - began)
    return {
        "fork_ms": sorted(times)[rounds // 2] * 1e3,
        "fork_bytes": (probe.bytes() - stored) / rounds,
        "fork_write_transactions": (probe.transactions() - xids) / rounds,
    }


if __name__ == "__main__":
    serve(answer)
