"""The Helm chart: what Helm makes of it asks for nothing that the product does not have.

`rendered.yaml` is read where there is no Helm; where there is one, it is compared and linted.
"""

from __future__ import annotations

import importlib.util
import json
import re
import shutil
from collections.abc import Iterator
from typing import Any

import jsonschema
import kubernetes_validate
import pytest
import yaml
from django.core.management import get_commands

from gatepost_command import __version__
from tests.house.deploy import chart
from tests.house.deploy.containers import ROOT, compose
from tests.house.deploy.test_containers import FOREIGN, read_by_code

KUBERNETES = "1.31"
PROBES = ("/healthz", "/readyz")  # answered before the addresses of pages are looked at
without_helm = pytest.mark.skipif(
    shutil.which("helm") is None, reason="NO HELM: rendered.yaml is read in its place"
)


def of_kind(kind: str) -> dict[str, dict[str, Any]]:
    """The manifests of a kind by their names."""
    return {one["metadata"]["name"]: one for one in chart.rendered() if one["kind"] == kind}


def pods() -> Iterator[tuple[str, dict[str, Any], dict[str, Any]]]:
    """(name, specification of the pod, its only container)."""
    for kind in ("Deployment", "Job"):
        for name, one in of_kind(kind).items():
            pod = one["spec"]["template"]["spec"]
            (container,) = pod["containers"]
            yield name.removeprefix("gatepost-"), pod, container


def variables(container: dict[str, Any]) -> dict[str, str]:
    return {one["name"]: one.get("value", "") for one in container["env"]}


def test_what_is_read_here_was_rendered_from_the_chart() -> None:
    first = chart.RENDERED.read_text().partition("\n")[0]
    assert first == f"# {chart.mark()}", "python -m tests.house.deploy.chart renders it anew"


@without_helm
def test_helm_lints_the_chart_and_renders_the_same() -> None:
    linted = chart.helm("lint", "--strict")
    assert linted.returncode == 0, linted.stdout + linted.stderr
    assert chart.template().stdout == chart.RENDERED.read_text().partition("\n")[2]


@without_helm
@pytest.mark.parametrize(
    ("setting", "named"),
    [
        ("image.tag=latest", "/image/tag"),
        ("image.repository=", "/image/repository"),
        ("web.replica=3", "'replica' not allowed"),
        ("secrets.runtime=", "secrets.runtime"),
        ("secrets.migrate=", "secrets.migrate"),
        ("database.url=", "database.url"),
        ("storage.url=", "web and workers share files"),
        ("settings.GATEPOST_ALLOWED_HOSTS=", "GATEPOST_ALLOWED_HOSTS"),
        ("workers.models.queues=[]", "/workers/models/queues"),
        ("workers.default.autoscaling.enabled=true", "workers.default.queues"),
        ("workers.models.autoscaling.prometheus=", "autoscaling.prometheus"),
    ],
)
def test_what_is_missing_or_misspelt_is_named(setting: str, named: str) -> None:
    done = chart.template("--set", setting)
    assert done.returncode == 1
    assert named in done.stderr, done.stderr


def test_kubernetes_knows_each_manifest() -> None:
    kinds = set()
    for one in chart.rendered():
        kinds.add(one["kind"])
        if one["kind"] != "ScaledObject":  # of KEDA, no kind of Kubernetes itself
            kubernetes_validate.validate(one, KUBERNETES, strict=True)
    assert kinds == {
        "Deployment", "Service", "Job", "PodDisruptionBudget", "ScaledObject",
    }  # fmt: skip


def test_a_pod_has_no_right_that_it_does_not_need() -> None:
    seen = set()
    for name, pod, container in pods():
        seen.add(name)
        assert pod["automountServiceAccountToken"] is False
        assert pod["securityContext"]["runAsNonRoot"] is True
        assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
        assert "memory" in container["resources"]["limits"], name
        assert re.search(r":\d|@sha256:", container["image"]), name
        written = {m["mountPath"] for m in container["volumeMounts"] if not m.get("readOnly")}
        assert written == {"/tmp", "/data"}
    assert seen == {"web", "worker-default", "worker-models", "standby", "migrate"}


def test_each_part_has_its_own_secrets_and_none_in_its_environment() -> None:
    for name, pod, container in pods():
        mounted = {v["secret"]["secretName"] for v in pod["volumes"] if "secret" in v}
        assert mounted == ({"gatepost", "gatepost-owner"} if name == "migrate" else {"gatepost"})
        assert ("envFrom" in container) == (name != "migrate")
        items = {
            item["path"] for v in pod["volumes"] if "secret" in v for item in v["secret"]["items"]
        }
        for variable, value in variables(container).items():
            if variable.endswith("_FILE"):
                assert value.rpartition("/")[2] in items, variable
        urls = [value for value in variables(container).values() if "://" in value]
        assert not [url for url in urls if re.search(r"//[^/@]*:[^/@]*@", url)]
    assert not of_kind("Secret")


def test_each_variable_is_one_that_the_code_reads() -> None:
    known = read_by_code()
    for name, _, container in pods():
        for variable in variables(container):
            assert variable.removesuffix("_FILE") in known or variable in FOREIGN, (name, variable)
        theirs = compose()["services"][name if name in ("web", "migrate") else "worker"]
        assert variables(container)["GATEPOST_ROLE"] == theirs["environment"]["GATEPOST_ROLE"]
    defaults = yaml.safe_load((chart.CHART / "values.yaml").read_text())
    assert set(defaults["settings"]) <= known


def test_commands_probes_and_ports_are_those_of_the_product() -> None:
    for name, pod, container in pods():
        match container.get("command"):
            case None:
                assert name == "web"  # as the image says
            case ["python", "manage.py", command, *_]:
                assert command in get_commands()
            case ["python", "-m", module, *_]:
                assert importlib.util.find_spec(module) is not None, module
            case other:
                pytest.fail(f"{name}: {other}")
        for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
            match container.get(probe):
                case {"httpGet": {"path": path, "port": "http"}}:
                    assert path in PROBES
                case {"exec": {"command": ["python", "-m", "workers.pulse"]}}:
                    assert variables(container)["GATEPOST_PULSE"].startswith("/tmp/")
                case None:
                    assert name == "migrate" or probe == "readinessProbe"
                case other:
                    pytest.fail(f"{name}: {other}")
        if name.startswith("worker"):
            # As long as compose gives a step to reach its boundary.
            assert (
                f"{pod['terminationGracePeriodSeconds']}s"
                == (compose()["services"]["worker"]["stop_grace_period"])
            )
    assert of_kind("Job")["gatepost-migrate"]["metadata"]["annotations"]["helm.sh/hook"] == (
        "pre-install,pre-upgrade"
    )


def test_workers_are_scaled_by_figures_that_metrics_has() -> None:
    (one,) = of_kind("ScaledObject").values()
    assert one["spec"]["scaleTargetRef"]["name"] in of_kind("Deployment")
    target = of_kind("Deployment")[one["spec"]["scaleTargetRef"]["name"]]
    assert "replicas" not in target["spec"]  # else each upgrade would undo what KEDA chose
    query = one["spec"]["triggers"][0]["metadata"]["query"]
    figures = set(re.findall(r"gatepost_\w+", query))
    assert figures == {"gatepost_queue_threads", "gatepost_queue_working_threads"}
    assert 'queue=~"gatepost|research"' in query


def test_evictions_leave_one_of_each_and_find_the_pods() -> None:
    deployments = of_kind("Deployment")
    for name, one in of_kind("PodDisruptionBudget").items():
        assert one["spec"]["selector"] == deployments[name]["spec"]["selector"]
    assert set(of_kind("PodDisruptionBudget")) == set(deployments) - {"gatepost-standby"}


def test_the_version_is_that_of_the_product_and_the_schema_knows_all_values() -> None:
    meta = yaml.safe_load((chart.CHART / "Chart.yaml").read_text())
    assert meta["appVersion"] == __version__
    schema = json.loads((chart.CHART / "values.schema.json").read_text())
    values = yaml.safe_load((chart.CHART / "values.yaml").read_text())
    jsonschema.Draft7Validator.check_schema(schema)
    assert set(values) == set(schema["properties"]) - {"global"}


def test_the_values_of_the_how_to_are_values_of_the_chart() -> None:
    page = (ROOT / "docs/howto/deploy.md").read_text().partition("## With Helm")[2]
    (block,) = re.findall(r'```yaml title="values.yaml"\n(.*?)```', page, re.DOTALL)
    values = yaml.safe_load(block)
    schema = json.loads((chart.CHART / "values.schema.json").read_text())
    worker = schema["properties"]["workers"]["additionalProperties"]
    worker["required"] = []  # Helm merges with the defaults first
    jsonschema.validate(values, schema)
    (commands,) = re.findall(r"```sh\n(.*?)```", page.partition("\n## ")[0], re.DOTALL)
    assert str(chart.CHART.relative_to(ROOT)) in commands
    made = set(re.findall(r"secret generic ([\w-]+)", commands))
    assert {values["secrets"]["runtime"], values["secrets"]["migrate"]} <= made
    assert set(values["secrets"]["environment"]) <= made
    runtime = {v["secret"]["secretName"]: v["secret"]["items"] for _, pod, _ in pods()
               for v in pod["volumes"] if "secret" in v}["gatepost"]  # fmt: skip
    assert {item["key"] for item in runtime} - {"hot_password"} == set(
        re.findall(r"(\w+_(?:password|keys?))\b", commands)
    ) - {"postgres_password"}
