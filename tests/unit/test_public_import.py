"""What `import gatepost` costs the script of an author, and that each name is there in the end."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

import gatepost
from gatepost_command import ROOT

COST = """
import json, os, re, sys
packages = {name.partition(".")[0] for name in sys.modules} - sys.stdlib_module_names
# What getrusage says would begin with the memory of the process that starts this one.
status = open("/proc/self/status").read() if os.path.exists("/proc/self/status") else "VmHWM: 0"
peak = int(re.search(r"VmHWM:\\s+(\\d+)", status)[1])
print(json.dumps({"modules": len(sys.modules), "packages": [*packages], "peak": peak}))
"""
# What a graph is declared with: our own, and pydantic with what it is made of.
OURS = {"approvals", "checkpoints", "gatepost", "workers"}
PYDANTIC = {"annotated_types", "pydantic", "pydantic_core", "typing_extensions"}
LIGHT = OURS | PYDANTIC | {"typing_inspection", "rfc8785"}
KILOBYTES_MAX = 45 * 1024
MODULES_OF_CONTEXT = 1_100  # may only fall


def cost(statement: str = "import gatepost") -> dict[str, Any]:
    """Modules, packages and peak memory (KiB, 0 if unknown) of a process with this import."""
    code = f"{statement}\n{COST}"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def test_it_brings_what_a_graph_is_declared_with_and_nothing_else() -> None:
    result = cost()
    packages = {name for name in result["packages"] if not name.startswith("_")}
    assert packages <= LIGHT, packages - LIGHT
    assert result["modules"] <= 260
    assert result["peak"] <= KILOBYTES_MAX


@pytest.mark.slow
def test_what_works_on_threads_brings_no_client_of_valkey() -> None:
    result = cost("from gatepost import Context")
    assert not {"celery", "kombu", "opentelemetry", "redis"} & {*result["packages"]}
    assert result["modules"] <= MODULES_OF_CONTEXT


@pytest.mark.parametrize("name", gatepost.__all__)
def test_each_name_is_there(name: str) -> None:
    assert getattr(gatepost, name) is not None
    assert name in dir(gatepost)


def test_another_name_is_no_attribute() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Harnes'"):
        gatepost.Harnes  # noqa: B018
    with pytest.raises(ImportError):
        exec("from gatepost import Contex")
