"""The bill of materials: valid CycloneDX, and every package of the lock with all of its hashes."""

from __future__ import annotations

import io
import json
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from django.core.management import call_command

from dashboard.operate.packages.bill import bill
from dashboard.operate.packages.locked import Package, installed, read_lock
from tests.faults.embedded.helpers import ROOT

AT = datetime(2026, 11, 26, 9, 30, tzinfo=UTC)
TEXT = {"type": "string", "minLength": 1}


def shape(properties: dict[str, Any], *optional: str) -> dict[str, Any]:
    """An object with exactly these properties."""
    return {
        "type": "object",
        "additionalProperties": False,
        "properties": properties,
        "required": [name for name in properties if name not in optional],
    }


# What we use of https://cyclonedx.org/schema/bom-1.6.schema.json, as strict as it is there.
HASH = shape({"alg": {"const": "SHA-256"}, "content": {"pattern": "^[a-fA-F0-9]{64}$"}})
LICENCES = {
    "type": "array",
    "minItems": 1,
    "oneOf": [
        {"maxItems": 1, "items": shape({"expression": TEXT})},
        {
            "items": shape(
                {"license": {"oneOf": [shape({"id": TEXT}), shape({"name": TEXT})]}},
            )
        },
    ],
}
COMPONENT = {
    "type": {"enum": ["application", "library"]},
    "bom-ref": TEXT,
    "name": TEXT,
    "version": TEXT,
    "purl": {"pattern": "^pkg:pypi/[a-z0-9][a-z0-9.-]*@[^@ ]+$"},
    "scope": {"enum": ["required", "optional", "excluded"]},
    "licenses": LICENCES,
    "externalReferences": {
        "type": "array",
        "items": shape(
            {
                "type": {"const": "distribution"},
                "url": {"pattern": "^https://"},
                "comment": TEXT,
                "hashes": {"type": "array", "minItems": 1, "items": HASH},
            }
        ),
    },
    "properties": {"type": "array", "items": shape({"name": TEXT, "value": {"type": "string"}})},
}
OPTIONAL = ("scope", "licenses", "externalReferences", "properties")
SCHEMA = shape(
    {
        "$schema": {"const": "http://cyclonedx.org/schema/bom-1.6.schema.json"},
        "bomFormat": {"const": "CycloneDX"},
        "specVersion": {"const": "1.6"},
        "serialNumber": {
            "pattern": "^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$"
        },
        "version": {"type": "integer", "minimum": 1},
        "metadata": shape(
            {
                "timestamp": {"type": "string", "format": "date-time"},
                "tools": shape(
                    {
                        "components": {
                            "type": "array",
                            "items": shape({"type": TEXT, "name": TEXT, "version": TEXT}),
                        }
                    }
                ),
                "component": shape(COMPONENT, *OPTIONAL),
            }
        ),
        "components": {
            "type": "array",
            "uniqueItems": True,
            "items": shape(COMPONENT, *OPTIONAL),
        },
        "dependencies": {
            "type": "array",
            "uniqueItems": True,
            "items": shape(
                {"ref": TEXT, "dependsOn": {"type": "array", "uniqueItems": True, "items": TEXT}}
            ),
        },
    }
)


def made(*words: str) -> dict[str, Any]:
    out = io.StringIO()
    call_command("sbom", *words, stdout=out, stderr=io.StringIO())
    result: dict[str, Any] = json.loads(out.getvalue())
    return result


@pytest.mark.parametrize("lock", ["requirements.lock", "requirements-dev.lock"])
def test_it_is_valid_and_names_every_package_of_the_lock(lock: str) -> None:
    document = made("--lock", str(ROOT / lock))
    jsonschema.validate(document, SCHEMA, cls=jsonschema.Draft202012Validator)
    text = (ROOT / lock).read_text()
    pins = dict(re.findall(r"^([a-z0-9][a-z0-9._-]*)==([^\s;]+)", text, re.MULTILINE))
    assert {c["name"]: c["version"] for c in document["components"]} == pins
    assert len(pins) > 90
    hashes = [
        digest["content"]
        for component in document["components"]
        for reference in component["externalReferences"]
        for digest in reference["hashes"]
    ]
    assert sorted(hashes) == sorted(re.findall(r"--hash=sha256:([0-9a-f]{64})", text))


def test_references_lead_somewhere_and_all_is_reached_from_gatepost() -> None:
    document = made()
    ours = document["metadata"]["component"]["bom-ref"]
    refs = [c["bom-ref"] for c in document["components"]]
    assert len(refs) == len(set(refs))
    needs = {d["ref"]: d["dependsOn"] for d in document["dependencies"]}
    assert set(needs) == {ours, *refs}
    assert {name for names in needs.values() for name in names} <= set(refs)
    reached, rest = set(), [ours]
    while rest:
        if (one := rest.pop()) not in reached:
            reached.add(one)
            rest += needs[one]
    assert reached == {ours, *refs}
    django = next(ref for ref in refs if ref.startswith("pkg:pypi/django@"))
    assert any(ref.startswith("pkg:pypi/asgiref@") for ref in needs[django])


def test_most_licences_are_known() -> None:
    components = made()["components"]
    without = {c["name"] for c in components if "licenses" not in c and c["scope"] == "required"}
    assert len(without) <= 3, without


def test_the_same_packages_have_the_same_serial_number() -> None:
    rows = read_lock(ROOT / "requirements.lock")
    first, second = (bill(r, version="1", at=AT) for r in (rows, reversed(rows)))
    assert first == second
    other = bill(rows[1:], version="1", at=AT)
    assert other["serialNumber"] != first["serialNumber"]


def test_a_package_of_another_platform_is_there_and_marked() -> None:
    row = Package("nobody-has-this", "1.0", ("0" * 64,), "sys_platform == 'elsewhere'")
    (component,) = bill([row], version="1", at=AT)["components"]
    assert component["scope"] == "excluded"
    assert component["properties"] == [
        {"name": "gatepost:marker", "value": "sys_platform == 'elsewhere'"}
    ]
    assert "licenses" not in component


def test_without_a_lock_it_lists_what_is_installed() -> None:
    names = {one.name for one in installed("django")}
    assert {"asgiref", "sqlparse"} <= names
    assert "celery" not in names


def test_it_is_written_to_a_file(tmp_path: Path) -> None:
    path = tmp_path / "bom.json"
    call_command("sbom", "--output", str(path), stdout=io.StringIO(), stderr=io.StringIO())
    assert json.loads(path.read_text())["bomFormat"] == "CycloneDX"
    for words in (["--output", str(tmp_path / "no" / "x")], ["--lock", str(tmp_path / "none")]):
        with pytest.raises(SystemExit) as ended:
            call_command("sbom", *words, stdout=io.StringIO(), stderr=io.StringIO())
        assert ended.value.code == 2
