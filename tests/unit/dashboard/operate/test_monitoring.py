"""deploy/alerts.yml and deploy/dashboard.json against what a server answers and the how-to says."""

from __future__ import annotations

import io
import json
import re
import shutil
import subprocess
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import promql_parser as promql
import pytest
import yaml
from django.conf import settings
from django.core.management import call_command
from django.test import Client
from prometheus_client.parser import text_string_to_metric_families

from approvals import gates
from approvals.anchors.destinations import parse
from checkpoints import store
from checkpoints.store.installation.span_exports import begin_export
from dashboard.live import metrics
from tests.docs.units import HOWTOS
from tests.support.cast import Cast
from tests.unit.dashboard import scene
from workers.tracing.exporter import NAME as SPAN_EXPORT

ROOT = Path(__file__).resolve().parents[4]
ALERTS, DASHBOARD = ROOT / "deploy/alerts.yml", ROOT / "deploy/dashboard.json"
RULES: list[dict[str, Any]] = yaml.safe_load(ALERTS.read_text())["groups"][0]["rules"]
PANELS: list[dict[str, Any]] = json.loads(DASHBOARD.read_text())["panels"]
PAGE = (HOWTOS / "monitor.md").read_text()
# Samples that are made beside a histogram and say nothing of their own.
BESIDE = re.compile(r"_created$")


def expressions() -> Iterator[tuple[str, str]]:
    """(where, expression) of every rule and panel."""
    for rule in RULES:
        yield rule["alert"], rule["expr"]
    for panel in PANELS:
        for target in panel.get("targets", ()):
            yield panel["title"], target["expr"]


def selectors(expression: str) -> list[promql.VectorSelector]:
    """The figures that an expression selects; raises ValueError where it is no PromQL."""
    selected: list[promql.VectorSelector] = []

    def visit(node: promql.Expr) -> None:
        if isinstance(node, promql.VectorSelector):
            selected.append(node)

    promql.walk(promql.parse(expression), visit)
    return selected


def grouped(expression: str) -> set[str]:
    """The labels by which an expression groups."""
    labels: set[str] = set()

    def visit(node: promql.Expr) -> None:
        if isinstance(node, promql.AggregateExpr) and node.modifier is not None:
            labels.update(node.modifier.labels)

    promql.walk(promql.parse(expression), visit)
    return labels


@pytest.fixture
def answered(
    client: Client, cast: Cast, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, hot_store: object
) -> dict[str, dict[str, set[str]]]:
    """{figure: {label: values}} that a server answers which does all that can be figured."""
    monkeypatch.setattr(metrics, "KEPT_SECONDS", 0.0)
    monkeypatch.setattr(settings, "ALLOWED_HOSTS", ["localhost"])
    monkeypatch.setattr(settings, "GATEPOST_EMBEDDINGS", "openai:tiny")
    monkeypatch.setattr(settings, "GATEPOST_ANCHORS", (parse(f"file://{tmp_path}/a.jsonl"),))
    agent = scene.make_agent()
    scene.alive(agent)
    scene.start(cast.workspace, agent)
    store.claim_duty("sweep", owner="worker:1:boot", seconds=6)
    begin_export(SPAN_EXPORT)
    call_command("anchor", "--send", stdout=io.StringIO())
    request = scene.waiting(cast.workspace, agent)
    gates.decide(
        request.id,
        workspace=cast.workspace,
        reviewer=gates.Reviewer("user:2", "manager"),
        verdict="approve",
        proposal_hash=request.proposal_hash,
    )
    headers = {"host": "localhost:8000"}
    client.get("/", headers=headers)
    text = client.get("/metrics", headers=headers).content.decode()
    answer: dict[str, dict[str, set[str]]] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            labels = answer.setdefault(sample.name, defaultdict(set))
            for label, value in sample.labels.items():
                labels[label].add(value)
    return answer


def test_every_figure_and_label_is_answered_and_every_figure_is_shown(
    answered: dict[str, dict[str, set[str]]],
) -> None:
    shown = set()
    for where, expression in expressions():
        selected = selectors(expression)
        for selector in selected:
            name = selector.name or ""
            assert name in answered, f"{where}: nothing answers {name}"
            shown.add(name)
            for matcher in selector.matchers.matchers:
                values = answered[name][matcher.name]
                # The status of a request is one of five, whichever this server had to answer.
                known = values | ({"5xx"} if matcher.name == "status" else set())
                assert matcher.value in known, f"{where}: {name} has no {matcher.name}"
        for label in grouped(expression):
            assert any(label in answered[s.name or ""] for s in selected), f"{where}: {label}"
    assert {name for name in answered if not BESIDE.search(name)} == shown


def test_every_alert_names_the_action_and_a_section_of_the_how_to() -> None:
    sections = dict(re.findall(r"^## (.+)\n\n((?:.+\n)+)", PAGE, re.MULTILINE))
    by_anchor = {title.lower().replace(" ", "-"): text for title, text in sections.items()}
    assert len({rule["alert"] for rule in RULES}) == len(RULES) >= 25
    for rule in RULES:
        notes = rule["annotations"]
        assert notes["summary"].endswith(".")
        # A sentence that begins with what to do.
        assert re.match(r"(Ask|Call|Change|Find|Look|Open|Read|Start) ", notes["action"]), (
            f"{rule['alert']}: {notes['action']}"
        )
        page, _, anchor = notes["runbook"].partition("#")
        assert page == "docs/howto/monitor.md"
        assert f"`{rule['alert']}`" in by_anchor[anchor], f"{rule['alert']} is not in {anchor}"
        assert rule["labels"]["severity"] in ("critical", "warning", "info")
    named = set(re.findall(r"`(Gatepost[A-Z]\w+)`", PAGE))
    assert named == {rule["alert"] for rule in RULES}


def test_prometheus_reads_the_rules() -> None:
    program = shutil.which("promtool")
    if program is None:
        pytest.skip("NOT TRIED HERE: promtool is not installed")
    done = subprocess.run([program, "check", "rules", str(ALERTS)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_configuration_of_the_how_to_is_yaml_that_names_the_rules() -> None:
    (block,) = re.findall(r"^```yaml[^\n]*\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    read = yaml.safe_load(block)
    assert read["rule_files"] == [ALERTS.name]
    assert [job["job_name"] for job in read["scrape_configs"]] == ["gatepost"]


def test_the_statement_of_the_how_to_is_taken(real_db: str) -> None:
    from tests.unit.checkpoints.builders import rows

    (statement,) = re.findall(r"^```sql\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    assert rows(statement.rstrip().rstrip(";"))


def test_panels_have_a_place_of_their_own() -> None:
    positions = [tuple(panel["gridPos"].values()) for panel in PANELS]
    assert len({position[:2] for position in positions}) == len(positions)
    assert len({panel["id"] for panel in PANELS}) == len(PANELS)
    assert all(target["legendFormat"] for panel in PANELS for target in panel.get("targets", ()))
