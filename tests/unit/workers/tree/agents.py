"""A lead, its readers and writers, as small as they can be."""

from __future__ import annotations

from typing import Annotated, Any

from workers.authoring.children import ChildrenFailed
from workers.authoring.graph import END, Append, Gate, Graph, State, tool
from workers.node.context import Context


class Page(State):
    file: str = ""
    text: str = ""
    fails: bool = False


class Lead(State):
    files: list[str] = []
    bad: list[str] = []
    need: str | int = "all"
    within: float | None = None
    failures: str = "raise"
    at_most: int | None = None
    children: list[dict[str, str]] = []
    texts: list[str] = []
    listed: list[str] = []


reader = Graph("reader", Page)


@reader.node(then=END)
def read_page(state: Page, ctx: Context) -> dict[str, Any]:
    if state.fails:
        raise ValueError(f"{state.file} cannot be read")
    return {"text": state.file.upper()}


lead = Graph("lead", Lead)


@lead.node(then="combine")
def start(state: Lead, ctx: Context) -> dict[str, Any]:
    children = [
        ctx.spawn("reader", {"file": file, "fails": file in state.bad}, title=file)
        for file in state.files
    ]
    return {"children": children}


@lead.node(then=END)
def combine(state: Lead, ctx: Context) -> dict[str, Any]:
    joined = ctx.join(
        state.children,
        need=state.need,  # type: ignore[arg-type]
        within=state.within,
        failures=state.failures,  # type: ignore[arg-type]
    )
    return {
        "texts": [result["text"] for result in joined.results],
        "listed": [str(failure) for failure in joined.failures],
    }


mapping = Graph("mapping", Lead)


@mapping.node(then=END)
def read_all(state: Lead, ctx: Context) -> dict[str, Any]:
    inputs = [{"file": file, "fails": file in state.bad} for file in state.files]
    try:
        joined = ctx.map(
            "reader",
            inputs,
            at_most=state.at_most,
            need=state.need,  # type: ignore[arg-type]
            failures=state.failures,  # type: ignore[arg-type]
        )
    except ChildrenFailed as failed:
        return {"listed": [str(failed), *map(str, failed.joined.failures)]}
    return {
        "texts": [result["text"] for result in joined.results],
        "listed": [str(failure) for failure in joined.failures],
    }


# ---- a researcher hands over to a writer --------------------------------------------------------

looked: list[str] = []
wrote: list[str] = []


class Research(State):
    goal: str = ""
    findings: Annotated[list[str], Append()] = []
    notes: str = ""
    secret_plan: str = "none"


class Draft(State):
    goal: str = ""
    findings: list[str] = []  # another reducer than the researcher's
    tone: str = "plain"
    text: str = ""
    fails: bool = False


researcher = Graph("researcher", Research)
writer = Graph("writer", Draft)


def look_up(goal: str) -> str:
    looked.append(goal)
    return f"{goal} grows"


def write_down(text: str) -> str:
    wrote.append(text)
    return text


@researcher.node(then="pass_on")
def research(state: Research, ctx: Context) -> dict[str, Any]:
    return {"findings": [ctx.activity(look_up, state.goal)], "notes": "long notes"}


@researcher.node(then="never")
def pass_on(state: Research, ctx: Context) -> dict[str, Any]:
    ctx.hand_off("writer", {"tone": "warm", "fails": state.goal == "bad"})
    return {"findings": ["handed over"]}


@researcher.node(then=END)
def never(state: Research, ctx: Context) -> dict[str, Any]:
    raise AssertionError("a thread that handed over has ended")


@writer.node(then="finish")
def write(state: Draft, ctx: Context) -> dict[str, Any]:
    if state.fails:
        raise ValueError("no words")
    return {"text": ctx.activity(write_down, f"{state.tone}: {', '.join(state.findings)}")}


@writer.node(then=END)
def finish(state: Draft, ctx: Context) -> dict[str, Any]:
    return {"text": state.text.upper()}


class Editor(State):
    goals: list[str] = []
    texts: list[str] = []
    listed: list[str] = []


editor = Graph("editor", Editor)


@editor.node(then=END)
def commission(state: Editor, ctx: Context) -> dict[str, Any]:
    inputs = [{"goal": goal} for goal in state.goals]
    joined = ctx.map("researcher", inputs, at_most=1, failures="list")
    return {
        "texts": [result["text"] for result in joined.results],
        "listed": [str(failure) for failure in joined.failures],
    }


# ---- several agents write into one conversation --------------------------------------------------


class Conversation(State):
    messages: Annotated[list[dict[str, Any]], Append()] = []
    speakers: list[str] = []
    lines: int = 2
    number: int = 0


class Speaker(State):
    name: str = ""
    lines: int = 0


conversation = Graph("conversation", Conversation, message_channel="messages")
speaker = Graph("speaker", Speaker)


@conversation.node(then="count_lines")
def invite(state: Conversation, ctx: Context) -> dict[str, Any]:
    inputs = [{"name": name, "lines": state.lines} for name in state.speakers]
    ctx.map("speaker", inputs, at_most=None)
    return {}


@conversation.node(then=END)
def count_lines(state: Conversation, ctx: Context) -> dict[str, Any]:
    return {"number": len(state.messages)}


@speaker.node(then=END)
def speak(state: Speaker, ctx: Context) -> dict[str, Any]:
    for number in range(state.lines):
        ctx.send(ctx.parent, {"by": state.name, "number": number})
    return {}


# ---- a manager, a clerk and a payment behind a gate ----------------------------------------------

paid: list[str] = []


class Order(State):
    to: str = ""
    depth: int = 1
    costs: str = "0"
    receipt: str = ""


@tool("tree.pay", idempotent=True)
def pay(to: str, *, key: str) -> str:
    """Send money."""
    paid.append(key)
    return f"paid {to}"


clerk = Graph("clerk", Order)


@clerk.node(then=END)
def order(state: Order, ctx: Context) -> dict[str, Any]:
    if state.depth:
        values = {"to": state.to, "depth": state.depth - 1, "costs": state.costs}
        child = ctx.spawn("clerk", values, title=f"level {state.depth - 1}")
        return {"receipt": ctx.join([child]).results[0]["receipt"]}
    if state.costs != "0":
        ctx.model("Is this right?")
        ctx.model("Are you sure?")
    return {"receipt": ctx.effect(pay, {"to": state.to}, gate=Gate(f"Pay {state.to}")).result}


GRAPHS = (clerk, conversation, speaker, lead, mapping, reader, researcher, writer, editor)
