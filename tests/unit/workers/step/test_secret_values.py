"""Secrets are read where they are used, are in no record, and are masked in errors."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from gatepost import END, Context, Graph, Harness, State, current, tool
from workers.step.secret_values import path_of_secret

SECRET = "hunter2-hunter2"


class Shopping(State):
    text: str = ""


@pytest.fixture(autouse=True)
def _secret(monkeypatch: Any) -> None:
    monkeypatch.setenv("SHOP_KEY", SECRET)


def log_in() -> int:
    """Uses the secret and returns something else."""
    return len(current().secret("SHOP_KEY"))


def leak() -> dict[str, Any]:
    return {"headers": [{"auth": f"Bearer {current().secret('SHOP_KEY')}"}]}


def fail() -> None:
    raise RuntimeError(f"the shop refused {current().secret('SHOP_KEY')}")


async def leak_later() -> str:
    return current().secret("SHOP_KEY")


@tool("shop.order")
def order(*, key: str) -> str:
    """Order something."""
    return current().secret("SHOP_KEY")


def play(call: Any) -> Any:
    graph = Graph("shopping", Shopping)
    graph.node("work", then=END)(lambda state, ctx: {"text": str(call(ctx))})
    thread = Harness(graph).play()
    record = json.dumps([e.data for e in thread.events]) + json.dumps(thread.state) + thread.reason
    record += "".join(f"{a.args}{a.result}{a.error}" for a in thread.activities)
    assert SECRET not in record
    return thread


def test_a_secret_is_used_and_not_recorded() -> None:
    assert play(lambda ctx: ctx.activity(log_in)).state["text"] == str(len(SECRET))


@pytest.mark.parametrize(
    ("call", "reason"),
    [
        (lambda ctx: ctx.activity(leak), "returned holds a secret at $.headers[0].auth: leave"),
        (lambda ctx: ctx.activity(leak_later), "returned holds a secret at $: leave it out"),
        (lambda ctx: ctx.activity(fail), "the shop refused ***"),
        (lambda ctx: ctx.effect(order, {}), "'shop.order' returned holds a secret at $"),
        (lambda ctx: ctx.secret("SHOP_KEY"), "answers inside an activity's function only"),
    ],
    ids=["result", "async", "error", "effect", "node"],
)
def test_a_secret_is_refused_with_its_path(call: Any, reason: str) -> None:
    thread = play(call)
    assert thread.status == "failed"
    assert reason in thread.reason


def test_an_update_with_a_secret_is_refused(monkeypatch: Any) -> None:
    def smuggle(ctx: Context) -> str:
        import os

        ctx.activity(log_in)
        return os.environ["SHOP_KEY"]

    assert "The update holds a secret at $.text" in play(smuggle).reason


def test_the_path_of_a_secret() -> None:
    values = {"a": [1, {"b": None}, [f"x{SECRET}"]]}
    assert path_of_secret(values, {SECRET}) == "$.a[2][0]"
    assert path_of_secret({f"k{SECRET}": 1}, {SECRET}) == '$["k***"]'
    assert path_of_secret(values, {"other"}) == path_of_secret(values, ()) == ""
    assert not re.search("x", path_of_secret(SECRET, {SECRET}))


@pytest.mark.parametrize(
    "name", ["GATEPOST_SECRET_KEY", "DATABASE_URL", "GATEPOST_SECRET_KEY_FILE", "redis_url"]
)
def test_a_setting_of_gatepost_is_no_secret_of_a_call(
    name: str, monkeypatch: Any, tmp_path: Any
) -> None:
    (tmp_path / "key").write_text(SECRET)
    monkeypatch.setenv(name, SECRET)
    monkeypatch.setenv(f"{name}_FILE", str(tmp_path / "key"))
    thread = play(lambda ctx: ctx.activity(lambda: len(current().secret(name))))
    assert "is a setting of Gatepost itself, which no call gets" in thread.reason
