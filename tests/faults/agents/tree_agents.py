"""A lead that starts readers, a researcher that hands over to a writer; see own_agents."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

from gatepost import END, Context, Graph, State


def trace(folder: str, name: str, text: str = "") -> None:
    """One line per call; short appends of several processes do not mix."""
    with Path(folder, f"{name}.log").open("a") as file:
        file.write(f"{os.getpid()} {text}\n")


def hold(folder: str, name: str) -> None:
    """Stay while the file lies there, a minute at most; only looks."""
    deadline = time.monotonic() + 60
    while Path(folder, f"{name}.hold").exists() and time.monotonic() < deadline:
        time.sleep(0.005)


class Page(State):
    folder: str
    file: str
    fails: bool = False
    text: str = ""


class Lead(State):
    folder: str
    files: list[str]
    bad: list[str] = []
    at_most: int | None = None
    texts: list[str] = []
    listed: list[str] = []
    total: int = 0


reader = Graph("tree-reader", Page)
lead = Graph("tree-lead", Lead)


def read_file(folder: str, file: str, fails: bool) -> str:
    trace(folder, "read", file)
    hold(folder, f"in-{file}")
    hold(folder, "in-read")
    time.sleep(0.02)  # so that one worker alone does not read them all
    if fails:
        raise ValueError(f"{file} cannot be read")
    return file.upper()


def pause_at(folder: str, name: str) -> str:
    trace(folder, name)
    hold(folder, f"in-{name}")
    return name


@reader.node(then=END)
def read_page(state: Page, ctx: Context) -> dict[str, Any]:
    return {"text": ctx.activity(read_file, state.folder, state.file, state.fails)}


@lead.node(then="combine")
def plan(state: Lead, ctx: Context) -> dict[str, Any]:
    ctx.activity(pause_at, state.folder, "plan")
    return {"total": len(state.files)}


@lead.node(then=END)
def combine(state: Lead, ctx: Context) -> dict[str, Any]:
    inputs = [
        {"folder": state.folder, "file": file, "fails": file in state.bad} for file in state.files
    ]
    joined = ctx.map("tree-reader", inputs, at_most=state.at_most, failures="list")
    ctx.activity(pause_at, state.folder, "joined")
    return {
        "texts": [result["text"] for result in joined.results],
        "listed": [failure.reason for failure in joined.failures],
    }


# ---- a researcher hands over to a writer -------------------------------------------------------


class Research(State):
    folder: str
    goal: str
    findings: list[str] = []


class Draft(State):
    folder: str
    goal: str = ""
    findings: list[str] = []
    draft: str = ""
    text: str = ""


researcher = Graph("tree-researcher", Research)
writer = Graph("tree-writer", Draft)


@researcher.node(then="pass_on")
def research(state: Research, ctx: Context) -> dict[str, Any]:
    return {"findings": [ctx.activity(pause_at, state.folder, "research")]}


@researcher.node(then=END)
def pass_on(state: Research, ctx: Context) -> dict[str, Any]:
    ctx.hand_off("tree-writer")
    ctx.activity(pause_at, state.folder, "passing")
    return {}


@writer.node(then="polish")
def write(state: Draft, ctx: Context) -> dict[str, Any]:
    return {"draft": ctx.activity(pause_at, state.folder, "write")}


@writer.node(then=END)
def polish(state: Draft, ctx: Context) -> dict[str, Any]:
    return {"text": f"{ctx.activity(pause_at, state.folder, 'polish')} {state.findings[0]}"}
