"""Gatepost's Helm chart as Helm renders it; `python -m tests.house.deploy.chart` renders it anew.

Helm comes from no registry of Python packages. So what it makes of `values.yaml` lies here in
`rendered.yaml`, whose first line names the files that it was made from, and tests read that.
"""

from __future__ import annotations

import hashlib
import subprocess
from pathlib import Path
from typing import Any

import yaml

from tests.house.deploy.containers import ROOT

CHART = ROOT / "deploy/helm/gatepost"
VALUES = Path(__file__).with_name("values.yaml")
RENDERED = Path(__file__).with_name("rendered.yaml")


def mark() -> str:
    """A digest of the chart's files and of the values."""
    digest = hashlib.sha256()
    for path in [*sorted(p for p in CHART.rglob("*") if p.is_file()), VALUES]:
        digest.update(path.relative_to(ROOT).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def helm(*arguments: str) -> subprocess.CompletedProcess[str]:
    """A call of Helm on the chart with the values; `arguments` may set others."""
    command = ["helm", arguments[0], *arguments[1:], str(CHART), "--values", str(VALUES)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def template(*arguments: str) -> subprocess.CompletedProcess[str]:
    """What Helm renders for a release `gatepost`."""
    return helm("template", "gatepost", *arguments)


def rendered() -> list[dict[str, Any]]:
    """The manifests of `rendered.yaml`."""
    return [one for one in yaml.safe_load_all(RENDERED.read_text()) if one]
