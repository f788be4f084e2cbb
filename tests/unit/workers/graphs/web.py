"""An agent that reads pages of the web, and says of each what it was or why it was not read."""

from __future__ import annotations

from typing import Annotated, Any

from gatepost import END, Append, Context, Graph, Rejected, Retry, State, WebRefused

failing: list[int] = []  # so many further times the node fails after its reads


class Reading(State):
    urls: list[str] = []
    pages: Annotated[list[dict[str, Any]], Append()] = []


graph = Graph("reading", Reading, retry=Retry(first=0.01, most=0.02, plain=False))


@graph.node(then=END)
def read(state: Reading, ctx: Context) -> dict[str, Any]:
    """Read all, one after the other."""
    results = []
    for url in state.urls:
        try:
            page = ctx.read_web(url)
        except WebRefused as refused:
            results.append({"url": url, "refused": str(refused), "off": refused.is_off})
        except Rejected as no:
            results.append({"url": url, "rejected": no.comment})
        else:
            fields = ("address", "title", "text", "sha256", "size", "media_type", "at")
            results.append({"url": url, **{name: getattr(page, name) for name in fields}})
    if failing:
        failing.pop()
        raise ValueError("on demand")
    return {"pages": results}
