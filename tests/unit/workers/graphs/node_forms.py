"""Each form of node that the docs allow, one agent for each: played and worked they must end alike.

Imports what an author imports, so that it also runs where only the wheel is installed. `FORMS` is
the table: what a form's thread begins with, and what people answer, one after the other.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from gatepost import (
    END,
    Append,
    Approve,
    Context,
    Edit,
    Gate,
    Graph,
    Reject,
    Rejected,
    Reply,
    Request,
    Respond,
    Retry,
    State,
    Verdict,
    current,
    plain,
    progress,
    tool,
)


class Work(State):
    text: str = "tea"
    out: Annotated[list[Any], Append()] = []
    turn: int = 0


def answer(request: Request) -> Reply:
    return Reply(f"{request.text}!", "tiny-1", 3, 4)


async def answer_later(request: Request) -> Reply:
    await asyncio.sleep(0)
    return answer(request)


def look_up(text: str) -> dict[str, Any]:
    return {"found": text, "sizes": [1, 2.5, None]}


async def fetch(text: str) -> str:
    await asyncio.sleep(0)
    progress(1, 2, "half", cursor={"at": 1})
    return f"page of {text}"


def explode(text: str) -> str:
    raise ValueError(f"no {text}")


def give_back(args: dict[str, Any], result: Any, *, key: str) -> None: ...


@tool("forms.send", undo=give_back, idempotent=True)
def send(text: str, *, key: str) -> dict[str, str]:
    """Send a text."""
    return {"sent": text}


@tool("forms.post", undo=None, idempotent=True)
async def post(text: str, *, key: str) -> str:
    """Post a text."""
    await asyncio.sleep(0)
    return f"posted {text}"


@tool("forms.break")
def break_off(text: str, *, key: str) -> str:
    """Fail."""
    raise ValueError("broken")


@dataclass
class Form:
    """A form of node: its agent, its input, the answers of people, and how its thread ends."""

    graph: Graph
    input: dict[str, Any] = field(default_factory=dict)
    verdicts: tuple[Verdict, ...] = ()
    ends: Literal["succeeded", "failed"] = "succeeded"
    # Where a person lets a thread go on that a play has to end (docs/howto/write-an-agent.md).
    ends_on_a_worker: Literal["", "attention"] = ""


FORMS: dict[str, Form] = {}


def agent(name: str, **options: Any) -> Graph:
    """A graph that workers find in this module."""
    graph = Graph(f"form-{name}", Work, **options)
    globals()[f"graph_{name.replace('-', '_')}"] = graph
    return graph


def form(
    *verdicts: Verdict, gate: bool = False, ends: Any = "succeeded", **options: Any
) -> Callable[[Any], Any]:
    """Enter a node function as an agent of its own, called like the function."""

    def enter(call: Any) -> Any:
        name = call.__name__.replace("_", "-")
        graph = agent(name, **options)
        graph.node(then=END, gate=gate)(call)
        FORMS[name] = Form(graph, verdicts=verdicts, ends=ends)
        return call

    return enter


def output(*values: Any) -> dict[str, Any]:
    return {"out": list(values)}


# ---- calls, one after the other ----


@form()
def returns_nothing(state: Work, ctx: Context) -> None: ...


@form()
def returns_a_value(state: Work, ctx: Context) -> dict[str, Any]:
    return output(state.text, plain(state.out), len(ctx.thread_title))


@form()
def an_activity(state: Work, ctx: Context) -> dict[str, Any]:
    return output(ctx.activity(look_up, state.text), ctx.activity(look_up, "milk"))


@form()
def an_async_activity(state: Work, ctx: Context) -> dict[str, Any]:
    return output(ctx.activity(fetch, state.text))


@form(ends="failed")
def an_activity_that_fails(state: Work, ctx: Context) -> dict[str, Any]:
    return output(ctx.activity(explode, state.text))


@form()
def a_failure_that_is_caught(state: Work, ctx: Context) -> dict[str, Any]:
    try:
        return output(ctx.activity(explode, state.text, retry=Retry(attempts=1)))
    except ValueError as error:
        return output(str(error))


@form()
def an_effect(state: Work, ctx: Context) -> dict[str, Any]:
    return output(
        ctx.effect(send, {"text": state.text}).result, ctx.effect(post, {"text": "b"}).result
    )


@form(ends="failed")
def an_effect_that_fails(state: Work, ctx: Context) -> dict[str, Any]:
    return output(ctx.effect(break_off, {"text": state.text}).result)


@form(on_failure="undo", ends="failed")
def an_effect_that_is_undone(state: Work, ctx: Context) -> dict[str, Any]:
    ctx.effect(send, {"text": state.text})
    raise KeyError("later")


@form(model=answer)
def a_model(state: Work, ctx: Context) -> dict[str, Any]:
    chat = ctx.model(messages=[{"role": "user", "content": "Say it"}])
    return output(ctx.model("Say", state.text), chat.text, dict(chat.usage))


@form(model=answer_later)
def an_async_model(state: Work, ctx: Context) -> dict[str, Any]:
    return output(ctx.model("Say", state.text))


@form(ends="failed")
def a_model_that_is_not_there(state: Work, ctx: Context) -> dict[str, Any]:
    return output(ctx.model("Say", state.text))


@form()
def time_and_chance(state: Work, ctx: Context) -> dict[str, Any]:
    return output(ctx.now().tzinfo is not None, 0 <= ctx.random() < 1, len(ctx.uuid().hex))


@form()
def a_file(state: Work, ctx: Context) -> dict[str, Any]:
    ref = ctx.artifact("tea.txt", b"tea", "text/plain")
    return output(ref, ctx.open_artifact(ref).read().decode())


@form()
def a_temporary_file(state: Work, ctx: Context) -> dict[str, Any]:
    def write() -> Any:
        path = current().scratch() / "tea.txt"
        path.write_text("tea")
        return path

    return output(ctx.activity(write))


@form()
def bytes_of_an_activity(state: Work, ctx: Context) -> dict[str, Any]:
    def read() -> Any:
        return b"\x00\xff"

    return output(ctx.activity(read).hex())


@form(ends="failed")
def bytes_in_the_state(state: Work, ctx: Context) -> dict[str, Any]:
    return output(b"\x00\xff")


@form(ends="failed")
def a_channel_that_is_not_there(state: Work, ctx: Context) -> dict[str, Any]:
    return {"tetx": "tea"}


@form(ends="failed")
def a_raised_error(state: Work, ctx: Context) -> dict[str, Any]:
    raise RuntimeError("no more tea")


# ---- stops ----


@form()
def a_sleep(state: Work, ctx: Context) -> dict[str, Any]:
    ctx.sleep(0.2)
    return output("awake")


@form(Respond("milk"))
def a_question(state: Work, ctx: Context) -> dict[str, Any]:
    return output(ctx.ask("Which?", schema={"type": "string"}).value)


@form(Reject("not now"), ends="failed")
def a_question_that_nobody_answers(state: Work, ctx: Context) -> dict[str, Any]:
    return output(ctx.ask("Which?", schema={"type": "string"}).value)


@form(Approve(), gate=True)
def a_gate_of_the_call(state: Work, ctx: Context) -> dict[str, Any]:
    return output(ctx.effect(send, {"text": state.text}, gate=Gate("Send it?")).result)


@form(Edit({"text": "milk"}), gate=True)
def an_edit_at_a_gate(state: Work, ctx: Context) -> dict[str, Any]:
    return output(ctx.effect(send, {"text": state.text}, gate=Gate("Send it?")).result)


@form(Reject("too much"), gate=True)
def a_refusal_at_a_gate(state: Work, ctx: Context) -> dict[str, Any]:
    try:
        ctx.effect(send, {"text": state.text}, gate=Gate("Send it?"))
    except Rejected as no:
        return output(no.comment)
    return output("sent")


@form(Approve(), gate=True, ends="failed")
def a_stop_that_is_swallowed(state: Work, ctx: Context) -> dict[str, Any]:
    try:
        ctx.effect(send, {"text": state.text}, gate=Gate("Send it?"))
    except BaseException:
        return output("went on")
    return output("sent")


@form(Approve(), Respond("cup"), gate=True)
def several_stops(state: Work, ctx: Context) -> dict[str, Any]:
    sent = ctx.effect(send, {"text": state.text}, gate=Gate("Send it?")).result
    ctx.sleep(0.2)
    return output(sent, ctx.ask("In what?", schema={"type": "string"}).value)


# ---- event loops and threads of the author's ----


@form(model=answer)
def a_loop_inside(state: Work, ctx: Context) -> dict[str, Any]:
    async def inner() -> list[Any]:
        await asyncio.sleep(0)
        ctx.think("inside")
        results = [ctx.activity(fetch, "a"), ctx.activity(look_up, "b"), ctx.model("c")]
        return [*results, ctx.effect(post, {"text": "d"}).result, len(ctx.uuid().hex)]

    return output(*asyncio.run(inner()))


@form(Approve(), Respond("cup"), gate=True)
def stops_in_a_loop_inside(state: Work, ctx: Context) -> dict[str, Any]:
    async def inner() -> list[Any]:
        sent = ctx.effect(send, {"text": state.text}, gate=Gate("Send it?")).result
        ctx.sleep(0.2)
        return [sent, ctx.ask("In what?", schema={"type": "string"}).value]

    return output(*asyncio.run(inner()))


@form()
def a_loop_in_an_activity(state: Work, ctx: Context) -> dict[str, Any]:
    def run_sync() -> str:
        return asyncio.run(fetch(state.text))

    return output(ctx.activity(run_sync))


@form()
def threads_in_an_activity(state: Work, ctx: Context) -> dict[str, Any]:
    def read_all() -> list[str]:
        with ThreadPoolExecutor(2) as pool:
            return list(pool.map(str.upper, ["a", "b", "c"]))

    return output(*ctx.activity(read_all))


@form(ends="failed")
def a_file_written_by_the_node(state: Work, ctx: Context) -> dict[str, Any]:
    with open("never.txt", "w") as file:
        file.write("x")
    return output("written")


# ---- functions that are no plain ones ----


@form(ends="failed")
async def a_coroutine(state: Work, ctx: Context) -> dict[str, Any]:
    return output("never")


@form(ends="failed")
def a_generator(state: Work, ctx: Context) -> Any:
    yield output("never")


@form()
def a_lambda_as_an_activity(state: Work, ctx: Context) -> dict[str, Any]:
    return output(ctx.activity(lambda: "one"), ctx.activity(lambda: "two"))


class Node:
    """A node may be any callable with a name."""

    __name__ = "an_object"

    def __call__(self, state: Work, ctx: Context) -> dict[str, Any]:
        return output(ctx.activity(look_up, state.text))


form()(Node())


# ---- several nodes ----

rounds = agent("rounds")


def again(state: Work) -> Literal["turn", "__end__"]:
    return "turn" if state.turn < 3 else END


@rounds.node(then=again)
def turn(state: Work, ctx: Context) -> dict[str, Any]:
    return {"turn": state.turn + 1, "out": [ctx.activity(look_up, str(state.turn))["found"]]}


FORMS["rounds"] = Form(rounds)

beside = agent("beside", model=answer)


@beside.node(then=("left", "right"))
def both(state: Work, ctx: Context) -> dict[str, Any]:
    return output("first")


@beside.node(then="join", gate=True)
def left(state: Work, ctx: Context) -> dict[str, Any]:
    return output(ctx.effect(send, {"text": "left"}, gate=Gate("Left?")).result)


@beside.node(then="join")
def right(state: Work, ctx: Context) -> dict[str, Any]:
    ctx.sleep(0.2)
    return output(ctx.model("right"), ctx.activity(fetch, "right"))


@beside.node(then=END)
def join(state: Work, ctx: Context) -> dict[str, Any]:
    return output("joined")


FORMS["beside"] = Form(beside, verdicts=(Approve(),))

endless = agent("endless", max_steps=5)


@endless.node(then=lambda state: "go", ways=("go",))
def go(state: Work, ctx: Context) -> dict[str, Any]:
    return {"turn": state.turn + 1}


FORMS["endless"] = Form(endless, ends="failed", ends_on_a_worker="attention")

child = agent("child")


@child.node(then=END)
def count(state: Work, ctx: Context) -> dict[str, Any]:
    if state.text == "broken":
        raise ValueError("cannot be read")
    return {"out": [ctx.activity(look_up, state.text)["found"], ctx.parent is not None]}


FORMS["child"] = Form(child)


@form()
def children(state: Work, ctx: Context) -> dict[str, Any]:
    joined = ctx.map("form-child", [{"text": t} for t in ("a", "broken", "c")], failures="list")
    one = ctx.spawn("form-child", {"text": "d"})
    ended = ctx.join([one]).results
    return output(*(r["out"] for r in joined.results), len(joined.failures), ended[0]["out"])


@form(ends="failed")
def children_that_fail(state: Work, ctx: Context) -> dict[str, Any]:
    return output(ctx.map("form-child", [{"text": "broken"}]).results)


@form()
def hands_off(state: Work, ctx: Context) -> dict[str, Any]:
    ctx.hand_off("form-child", {"text": "heir"})
    return {}
