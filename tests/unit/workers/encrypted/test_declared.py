"""Declaring encrypted channels: what a graph takes, describes, upgrades and plays."""

from __future__ import annotations

from typing import Annotated, Any

import pytest
from pydantic import Field

from checkpoints.state.encrypted import is_envelope
from checkpoints.state.schema import Upgrades
from checkpoints.states import Status
from tests.contract.secrets import grep
from tests.support.cast import Cast
from tests.unit.workers.conftest import Bench
from workers.authoring.errors import GraphError
from workers.authoring.graph import (
    END,
    Append,
    Custom,
    Encrypted,
    Graph,
    Merge,
    State,
    Sum,
)
from workers.code.registry import announce
from workers.node.context import Context
from workers.testing.harness import Harness

from .agent import NEWER, WORD, graph_of

ADMIN = Encrypted(readers=("admin",))


def graph_with(hint: Any, default: Any = None, **more: Any) -> Graph:
    """An agent whose one channel is declared like this."""
    fields = {"__annotations__": {"secret": hint}, "__module__": __name__, "secret": default}
    graph = Graph("made", type("Made", (State,), fields), **more)

    @graph.node(then=END)
    def end(state: Any, ctx: Context) -> dict[str, Any]:
        return {"secret": state.secret}

    return graph


@pytest.mark.parametrize(
    ("hint", "reason"),
    [
        (Annotated[list[str], Append(), ADMIN], "is encrypted and has the reducer Append"),
        (Annotated[dict[str, int], Merge(), ADMIN], "is encrypted and has the reducer Merge"),
        (Annotated[int, Sum(), ADMIN], "is encrypted and has the reducer Sum"),
        (Annotated[int, Custom(lambda a, b: b), ADMIN], "is encrypted and has the reducer Custom"),
        (Annotated[str, Encrypted(readers=())], "names no role that may read it"),
        (Annotated[str, Encrypted(readers=("boss",))], "'boss' is not a role; there are viewer"),
        (Annotated[str, Encrypted(readers="admin")], "is a list of roles"),  # type: ignore[arg-type]
        (Annotated[str, Encrypted], "write Encrypted"),
        (Annotated[str, ADMIN, ADMIN], "names Encrypted more than once"),
        (
            Annotated[str, Field(json_schema_extra={"x-title": True}), ADMIN],
            "cannot be the title of a thread",
        ),
    ],
)
def test_what_cannot_be_encrypted_is_refused(hint: Any, reason: str) -> None:
    with pytest.raises(GraphError, match="'secret'") as error:
        graph_with(hint).check()
    assert reason in str(error.value)


def test_readers_are_part_of_the_version() -> None:
    graph = graph_with(Annotated[str, Encrypted(readers=("admin", "auditor", "admin"))], "x")
    entry = {"reducer": "last_value", "default": "x", "encrypted": ["auditor", "admin"]}
    assert graph.describe_channels() == {"secret": entry}
    assert graph_with(str, "x").describe_channels() == {
        "secret": {"reducer": "last_value", "default": "x"}
    }


def test_a_play_in_memory_shows_the_author_the_values() -> None:
    played = Harness(graph_of()).play({"patient": "Ada", "diagnosis": WORD})
    assert played.status == "succeeded", played.reason
    assert played.state["diagnosis"] == WORD
    assert played.state["findings"] == {"of": WORD, "n": 1}


@pytest.mark.django_db
def test_an_upgrade_sees_values_and_leaves_ciphertext(cast: Cast) -> None:
    made = Bench(announce(graph_with(Annotated[str, ADMIN], ""), {}, []), cast.workspace)
    thread = made.start(secret=WORD)
    upgrades = Upgrades()

    @upgrades.step(1)
    def second(state: dict[str, Any]) -> dict[str, Any]:
        return {"secret": f"{state['secret']}, and {NEWER}"}

    hint = Annotated[str, ADMIN]
    newer = graph_with(hint, "", version=2, schema_version=2, upgrades=upgrades)
    made.install(newer, {})
    assert made.advance(thread).status is Status.SUCCEEDED, made.row(thread).status_reason
    assert is_envelope(made.state(thread)["secret"])
    assert grep.everywhere(WORD) | grep.everywhere(NEWER) == set()
    assert made.intact(thread)


@pytest.mark.django_db
@pytest.mark.parametrize("schema_version", [1, 2])
def test_code_that_would_keep_it_plain_is_refused(cast: Cast, schema_version: int) -> None:
    made = Bench(announce(graph_with(Annotated[str, ADMIN], ""), {}, []), cast.workspace)
    thread = made.start(secret=WORD)
    upgrades = Upgrades()
    upgrades.step(1)(lambda state: state)
    more: dict[str, Any] = {"version": 2, "on_code_change": "go_on", "upgrades": upgrades}
    made.install(graph_with(str, "", schema_version=schema_version, **more), {})
    row = made.advance(thread)
    assert row.status in (Status.FAILED, Status.ATTENTION)
    assert "the installed code does not declare it so" in row.status_reason
    assert grep.everywhere(WORD) == set()


@pytest.mark.django_db
def test_a_channel_that_becomes_encrypted_is_sealed_with_its_next_value(cast: Cast) -> None:
    made = Bench(announce(graph_with(str, ""), {}, []), cast.workspace)
    thread = made.start(secret=WORD)
    hint = Annotated[str, ADMIN]
    made.install(graph_with(hint, "", version=2, on_code_change="go_on"), {})
    assert made.advance(thread).status is Status.SUCCEEDED, made.row(thread).status_reason
    assert is_envelope(made.state(thread)["secret"])
