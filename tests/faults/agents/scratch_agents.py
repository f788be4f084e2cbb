"""An agent with temporary files, in a result and in a cursor, for workers that share no folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from own_agents import hold, trace

from workers.authoring.graph import END, Graph, State
from workers.node.context import Context, current, cursor, progress

PAGES = 6


class Crawl(State):
    folder: str
    table: dict[str, Any] = {}
    pages: dict[str, Any] = {}
    text: str = ""


graph = Graph("scratch", Crawl, queue="scratch")


def fetch(folder: str) -> dict[str, Any]:
    trace(folder, "fetch")
    path = current().scratch() / "table.csv"
    path.write_text("page\n" * 3)
    return {"rows": 3, "table": str(path)}


def crawl(folder: str) -> Path:
    before = cursor() or {"at": 0}
    path = current().scratch() / "pages.txt"
    if before["at"]:
        path.write_bytes(current().open_artifact(before["pages"]).read())
    for number in range(before["at"], PAGES):
        trace(folder, f"page-{number}")
        hold(folder, f"in-page-{number}")
        with path.open("a") as file:
            file.write(f"page {number}\n")
        newest = {"at": number + 1, "pages": str(path)}
        progress(number + 1, PAGES + 1, cursor=newest, every=1)
    return path


@graph.node(then="read")
def collect(state: Crawl, ctx: Context) -> dict[str, Any]:
    result = ctx.activity(fetch, state.folder)
    return {"table": result["table"], "pages": ctx.activity(crawl, state.folder)}


@graph.node(then=END)
def read(state: Crawl, ctx: Context) -> dict[str, Any]:
    return {
        "text": "".join(ctx.open_artifact(r).read().decode() for r in (state.table, state.pages))
    }
