"""The agent that audits one package: inspect -> check its files -> judge."""

from __future__ import annotations

from datetime import date
from typing import Any

from gatepost import END, Context, Graph

from .age import age_of
from .facts import dates_of, facts_of
from .files import check_files
from .findings import judge as judge_package
from .licences import licence_of
from .state import PackageAudit

NONE = {"files": 0, "hashed": 0, "altered": [], "missing": [], "startup": []}

graph = Graph(
    "package-audit",
    PackageAudit,
    version=1,
    label="Package audit",
    description="Looks at one installed package: its licence, its age, its files and what its "
    "metadata warns of.",
    internal=True,
    secrets_allowed=dict.fromkeys(
        ("$.facts.description", "inspect_package:$.facts.description"),
        "descriptions of packages quote examples of tokens",
    ),
)


@graph.node(then="check", label="Read its metadata")
def inspect(state: PackageAudit, ctx: Context) -> dict[str, Any]:
    """Read what the package says of itself."""

    def inspect_package(name: str, version: str, today: str) -> dict[str, Any]:
        facts = facts_of(name, version)
        if not facts["installed"]:
            return {"facts": facts}
        age = age_of(
            facts["version"],
            text=dates_of(name),
            pythons=facts["pythons"],
            today=date.fromisoformat(today),
        )
        return {"facts": facts, "licence": licence_of(facts["licence"]), "age": age}

    today = ctx.now().date().isoformat()
    update: dict[str, Any] = ctx.activity(inspect_package, state.name, state.version, today)
    return update


@graph.node(then="judge", label="Check its files")
def check(state: PackageAudit, ctx: Context) -> dict[str, Any]:
    """Hold the installed files against the package's own record of them."""
    if not state.facts["installed"]:
        return {"files": NONE}
    return {"files": ctx.activity(check_files, state.name)}


@graph.node(then=END, label="Judge it")
def judge(state: PackageAudit, ctx: Context) -> dict[str, Any]:
    """Say what speaks against it, and why."""
    findings = judge_package(
        {
            "name": state.name,
            "version": state.version or state.facts["version"],
            "pinned": state.pinned,
            "source": state.source,
        },
        state.facts,
        licence=state.licence,
        age=state.age,
        files=state.files,
        refused=state.refused,
        years=state.years,
    )
    for finding in findings:
        ctx.think(f"{finding['what']}: {finding['why']}.")
    if not findings:
        ctx.think("Nothing speaks against it.")
    return {"findings": findings}
