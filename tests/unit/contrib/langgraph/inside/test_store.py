"""`store=` on memory: LangGraph's own store is the referee, and records answer a resumed step."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.tools import tool
from langgraph.config import get_store
from langgraph.graph import END, START, StateGraph
from langgraph.prebuilt import InjectedStore
from langgraph.runtime import Runtime
from langgraph.store.base import (
    BaseStore,
    GetOp,
    InvalidNamespaceError,
    ListNamespacesOp,
    MatchCondition,
    PutOp,
    SearchOp,
)
from langgraph.store.memory import InMemoryStore
from langgraph.types import interrupt

from approvals.policies.matches import Facts, Rule
from approvals.rules.terms import Terms
from gatepost import Graph, Harness, Respond
from gatepost.langgraph import GatepostStore, from_langgraph
from workers.testing.play_ledger import PlayRules

pytestmark = [pytest.mark.requirement("A10"), pytest.mark.requirement("F04")]


class Request(TypedDict, total=False):
    which: str
    answer: Any


def agent(
    work: Callable[[BaseStore, Request], Any], store: BaseStore | None = None, name: str = "keeper"
) -> Graph:
    """An agent of one node, which does its work with the store."""
    return from_langgraph(compiled(work, store or GatepostStore()), name=name)


def compiled(work: Callable[[BaseStore, Request], Any], store: BaseStore) -> Any:
    def node(state: Request, runtime: Runtime[Any]) -> Request:
        assert runtime.store is not None
        return {"answer": work(runtime.store, state)}

    builder = StateGraph(Request)
    builder.add_node("work", node)
    builder.add_edge(START, "work")
    builder.add_edge("work", END)
    return builder.compile(store=store)


def answer(bench: Harness, **input: Any) -> Any:
    thread = bench.play({"which": "", **input})
    assert thread.status == "succeeded", thread.reason
    return thread.state["answer"]


# ---- what a store answers, as LangGraph's own one ------------------------------------------------


def filled(store: BaseStore) -> None:
    for n, color in enumerate(("red", "green", "blue")):
        store.put(("docs", "v1"), f"d{n}", {"n": n, "color": color, "deep": {"a": [n]}})
    store.put(("docs", "v2"), "d0", {"n": 9, "color": "red"})
    store.put(("docs", "v1", "drafts"), "d0", {"n": 5})
    store.put(("users", "7"), "profile", {"name": "Ada", "langs": ["de", "en"], "n": None})


def keys(items: list[Any]) -> list[str]:
    return sorted(f"{'/'.join(one.namespace)}:{one.key}" for one in items)


def gets(store: BaseStore) -> Any:
    filled(store)
    there = store.get(("users", "7"), "profile")
    assert there is not None
    assert (there.namespace, there.key) == (("users", "7"), "profile")
    assert there.created_at <= there.updated_at <= datetime.now(UTC)
    return [there.value, store.get(("users", "7"), "no"), store.get(("users",), "profile")]


def replaces(store: BaseStore) -> Any:
    filled(store)
    store.put(("users", "7"), "profile", {"name": "Bea"})
    one = store.get(("users", "7"), "profile")
    assert one is not None
    return [one.value, len(store.search(("users",)))]


def deletes(store: BaseStore) -> Any:
    filled(store)
    store.delete(("docs", "v1"), "d1")
    store.delete(("docs", "v1"), "never")
    gone = store.get(("docs", "v1"), "d1")
    rest = keys(store.search(("docs", "v1"), limit=20))
    store.put(("docs", "v1"), "d1", {"again": True})
    again = store.get(("docs", "v1"), "d1")
    assert again is not None
    return [gone, rest, again.value]


def searches(store: BaseStore) -> Any:
    filled(store)
    filters: list[Any] = [
        {"color": "red"},
        {"n": {"$gt": 0, "$lte": 2}},
        {"n": {"$ne": 1}},
        {"deep": {"a": [1]}},
        {"color": {"$eq": "blue"}, "n": 2},
        {"color": "red", "n": 1},
    ]
    return [
        keys(store.search((), limit=20)),
        keys(store.search(("docs", "v1"), limit=20)),
        keys(store.search(("doc",), limit=20)),
        *(keys(store.search(("docs", "v1"), filter=one, limit=20)) for one in filters[:1]),
        *(keys(store.search(("docs",), filter=one, limit=20)) for one in filters),
    ]


def pages(store: BaseStore) -> Any:
    filled(store)
    matches = [store.search(("docs",), limit=2, offset=at) for at in (0, 2, 4, 6)]
    return [[len(page) for page in matches], keys([one for page in matches for one in page])]


def namespaces(store: BaseStore) -> Any:
    filled(store)
    matches = [
        store.list_namespaces(),
        store.list_namespaces(prefix=("docs",)),
        store.list_namespaces(suffix=("v1",)),
        store.list_namespaces(prefix=("*", "v1")),
        store.list_namespaces(suffix=("v1", "*")),
        store.list_namespaces(prefix=("docs",), suffix=("drafts",)),
        store.list_namespaces(max_depth=1),
        store.list_namespaces(max_depth=2, limit=1, offset=1),
    ]
    return [[list(one) for one in some] for some in matches]


def batches(store: BaseStore) -> Any:
    filled(store)
    results = store.batch(
        [
            PutOp(("users", "7"), "profile", {"name": "one"}),
            GetOp(("users", "7"), "profile"),
            PutOp(("users", "7"), "profile", {"name": "two"}),
            SearchOp(("users",)),
            ListNamespacesOp((MatchCondition("prefix", ("users",)),)),
            PutOp(("docs", "v2"), "d0", None),
        ]
    )
    _, before, _, search, names, _ = results
    after = store.get(("users", "7"), "profile")
    rest = keys(store.search(("docs", "v2")))
    read: Any = [before, search, names, after]
    return [read[0].value, len(read[1]), [list(one) for one in read[2]], read[3].value, rest]


def refuses(store: BaseStore) -> Any:
    def refused(call: Callable[..., Any], *args: Any, **more: Any) -> str:
        try:
            call(*args, **more)
        except (InvalidNamespaceError, NotImplementedError) as error:
            return type(error).__name__
        return "no"

    return [
        refused(store.put, (), "k", {}),
        refused(store.put, ("a.b",), "k", {}),
        refused(store.put, ("a", ""), "k", {}),
        refused(store.put, ("langgraph",), "k", {}),
        refused(store.put, ("a",), "k", {}, ttl=5),
        refused(store.search, ("a.b",)),
    ]


ALL = (gets, replaces, deletes, searches, pages, namespaces, batches, refuses)


@pytest.mark.parametrize("work", ALL)
def test_it_answers_as_the_store_of_langgraph(work: Callable[[BaseStore], Any]) -> None:
    def node(store: BaseStore, _: Request) -> Any:
        return work(store)

    expected = compiled(node, InMemoryStore()).invoke({"which": ""})["answer"]
    assert answer(Harness(agent(node))) == expected
    assert expected


def test_async_calls_answer_the_same() -> None:
    async def node(state: Request) -> Request:
        store = get_store()
        await store.aput(("a",), "k", {"text": "It is late."})
        await store.aput(("a",), "gone", {"text": "It is early."})
        await store.adelete(("a",), "gone")
        one = await store.aget(("a",), "k")
        assert one is not None
        matches = await store.asearch(("a",), query="late")
        names = await store.alist_namespaces()
        return {"answer": [one.value, [item.key for item in matches], list(names[0])]}

    builder = StateGraph(Request)
    builder.add_node("work", node)
    builder.add_edge(START, "work")
    graph = builder.compile(store=GatepostStore())
    assert answer(Harness(from_langgraph(graph, name="late"))) == [
        {"text": "It is late."},
        ["k"],
        ["a"],
    ]


def test_words_find_the_best_first_and_nothing_else() -> None:
    def node(store: BaseStore, _: Request) -> Any:
        store.put(("m",), "a", {"text": "Ada likes pizza, and pizza likes Ada."})
        store.put(("m",), "b", {"text": "Bea eats a pizza in a town that is far away from here."})
        store.put(("m",), "c", {"text": "Eve plays chess."})
        return [
            [one.key for one in store.search(("m",), query="Who eats pizzas?")],
            [one.key for one in store.search(("m",), query="chess")],
            [one.key for one in store.search(("m",), query="the")],
        ]

    matches = answer(Harness(agent(node)))
    assert sorted(matches[0]) == ["a", "b"]
    assert matches[1:] == [["c"], []]


def test_values_keep_their_types() -> None:
    at = datetime(2026, 5, 1, tzinfo=UTC)

    def node(store: BaseStore, _: Request) -> Any:
        store.put(("m",), "k", {"at": at, "ratio": 2.0, "set": {1}})
        one = store.get(("m",), "k")
        assert one is not None
        return [one.value["at"] == at, type(one.value["ratio"]).__name__, one.value["set"] == {1}]

    assert answer(Harness(agent(node))) == [True, "float", True]


# ---- whose memory it is --------------------------------------------------------------------------


def put_and_read(store: BaseStore, state: Request) -> Any:
    if state["which"] == "put":
        store.put(("notes",), "k", {"text": "of the default"})
        store.put(("all",), "k", {"text": "of the workspace"})
        store.put(("own",), "k", {"text": "of the thread"})
    return sorted(one.namespace[0] for one in store.search(()))


def test_the_first_label_decides_whose_memory_it_is() -> None:
    store = GatepostStore(scopes={"all": "workspace", "own": "thread"})
    bench = Harness(agent(put_and_read, store))
    assert answer(bench, which="put") == ["all", "notes", "own"]
    assert answer(bench, which="read") == ["all", "notes"]


def test_a_scope_that_is_none_is_refused() -> None:
    with pytest.raises(ValueError, match="A scope is one of"):
        GatepostStore(scope="everybody")  # type: ignore[arg-type]


def test_without_a_thread_it_says_where_it_works() -> None:
    with pytest.raises(Exception, match="works in a node or a tool of a thread"):
        GatepostStore().get(("a",), "k")


# ---- on record -----------------------------------------------------------------------------------


def test_each_call_is_a_record_without_the_text() -> None:
    def node(store: BaseStore, _: Request) -> Any:
        store.put(("m",), "k", {"text": "quokka"})
        one = store.get(("m",), "k")
        assert one is not None
        return len(store.search(("m",), query="quokka"))

    thread = Harness(agent(node)).play({"which": ""})
    assert thread.status == "succeeded", thread.reason
    calls = {one.tool: one for one in thread.activities if one.tool.startswith("memory.")}
    assert sorted(calls) == ["memory.get", "memory.remember", "memory.search"]
    for one in calls.values():
        assert "quokka" not in str(one.result)
    assert calls["memory.get"].result[0]["revision"] == 1


@pytest.mark.parametrize("n", range(1, 12))
def test_a_lost_worker_reads_and_writes_nothing_twice(n: int) -> None:
    """Wherever its worker is lost, the step reads what it read first: it counts one higher."""

    def node(store: BaseStore, _: Request) -> Any:
        one = store.get(("m",), "count")
        count = 0 if one is None else one.value["n"]
        store.put(("m",), "count", {"n": count + 1})
        after = store.get(("m",), "count")
        assert after is not None
        return [count, after.value["n"]]

    bench = Harness(agent(node), stop_after=n)
    assert answer(bench) == [0, 1]


def test_an_answer_of_a_person_reads_the_store_as_it_was() -> None:
    """The task runs again after its interrupt; what it has put since does not change its reads."""

    def node(store: BaseStore, _: Request) -> Any:
        one = store.get(("m",), "asked")
        store.put(("m",), "asked", {"yes": True})
        return [one is None, interrupt("Which?")]

    thread = Harness(agent(node)).play({"which": ""}, decide=Respond("this"))
    assert thread.status == "succeeded", thread.reason
    assert thread.state["answer"] == [True, "this"]


def test_tasks_of_one_superstep_have_records_of_their_own() -> None:
    def look(name: str) -> Callable[[Request], Any]:
        def node(_: Request) -> Any:
            store = get_store()
            store.put(("m", name), "k", {"by": name})
            one = store.get(("m", name), "k")
            assert one is not None
            return {name: one.value["by"]}

        return node

    class Both(TypedDict, total=False):
        which: str
        left: str
        right: str

    builder = StateGraph(Both)
    for name in ("left", "right"):
        builder.add_node(f"look_{name}", look(name))
        builder.add_edge(START, f"look_{name}")
    graph = from_langgraph(builder.compile(store=GatepostStore()), name="both")
    for n in (None, *range(1, 9)):
        thread = Harness(graph, stop_after=n).play({"which": ""})
        assert thread.status == "succeeded", thread.reason
        assert (thread.state["left"], thread.state["right"]) == ("left", "right")


def test_a_policy_holds_a_put(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        PlayRules, "asks_of_call", lambda ledger, work, tool, args: tool == "memory.remember"
    )

    def policy(facts: Facts) -> Rule | None:
        return Rule("ask", "p@1", "Memory", Terms()) if facts.tool == "memory.remember" else None

    def node(store: BaseStore, state: Request) -> Any:
        if state["which"] == "put":
            store.put(("m",), "k", {"text": "Pay the quokka."})
        return [one.value["text"] for one in store.search(("m",))]

    bench = Harness(agent(node), policy=policy)
    thread = bench.play({"which": "put"})
    assert thread.status == "waiting", thread.reason
    (request,) = thread.open
    assert request.args["text"] == '{"text": "Pay the quokka."}'
    assert answer(bench, which="read") == []
    thread.decide("approve")
    assert thread.status == "succeeded", thread.reason
    assert thread.state["answer"] == ["Pay the quokka."]


def test_a_tool_of_a_tool_node_has_the_store(tmp_path: Any) -> None:
    from langchain_core.messages import AIMessage
    from langgraph.graph import MessagesState
    from langgraph.prebuilt import ToolNode

    @tool
    def note(text: str, store: Annotated[Any, InjectedStore()]) -> str:
        """Keep a note."""
        store.put(("notes",), "n", {"text": text})
        return "noted"

    def ask(state: MessagesState) -> Any:
        call = {"name": "note", "args": {"text": "tea at four"}, "id": "1"}
        return {"messages": [AIMessage("", tool_calls=[call])]}

    def read(state: MessagesState) -> Any:
        one = get_store().get(("notes",), "n")
        assert one is not None
        return {"messages": [AIMessage(one.value["text"])]}

    builder = StateGraph(MessagesState)
    builder.add_node("ask", ask)
    builder.add_node("tools", ToolNode([note]))
    builder.add_node("read", read)
    builder.add_edge(START, "ask")
    builder.add_edge("ask", "tools")
    builder.add_edge("tools", "read")
    graph = from_langgraph(builder.compile(store=GatepostStore()), name="noting")
    thread = Harness(graph).play({"messages": [{"role": "user", "content": "Note it."}]})
    assert thread.status == "succeeded", thread.reason
    assert thread.state["messages"][-1]["value"]["data"]["content"] == "tea at four"
