"""The software bill of materials in CycloneDX 1.6 JSON (ECMA-424).

The lock says which versions and which files may be installed, the metadata of what is installed
says licences and who needs whom. Of a package that is not installed here, because another platform
needs it, both are unknown and left out.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from importlib.metadata import PackageNotFoundError, metadata
from typing import Any, Final
from uuid import UUID, uuid5

from .locked import ROOT_PACKAGE, Package, needed

SPEC: Final = "1.6"
SCHEMA: Final = "http://cyclonedx.org/schema/bom-1.6.schema.json"
NAMESPACE: Final = UUID("5f0f6b0e-53d9-5f0e-9d7c-6f3a0b6a8f10")
LICENCE: Final = "Apache-2.0"
# Longer ones are whole texts that somebody put into the field.
LICENCE_NAME_MAX: Final = 80


def bill(packages: Iterable[Package], *, version: str, at: datetime) -> dict[str, Any]:
    """The document for one release; the same packages give the same serial number."""
    rows = sorted(packages, key=lambda one: one.name)
    ours = _ref(ROOT_PACKAGE, version)
    refs = {one.name: _ref(one.name, one.version) for one in rows}
    content = "\n".join([ours, *refs.values()])
    needs = {
        one.name: sorted({refs[name] for name in needed(one.name) if name in refs}) for one in rows
    }
    direct = {refs[name] for name in needed(ROOT_PACKAGE) if name in refs}
    # A clone is not installed as a package: what nothing else needs is there for us.
    direct = direct or set(refs.values()).difference(*needs.values())
    return {
        "$schema": SCHEMA,
        "bomFormat": "CycloneDX",
        "specVersion": SPEC,
        "serialNumber": f"urn:uuid:{uuid5(NAMESPACE, content)}",
        "version": 1,
        "metadata": {
            "timestamp": at.isoformat(timespec="seconds"),
            "tools": {
                "components": [{"type": "application", "name": ROOT_PACKAGE, "version": version}]
            },
            "component": {
                "type": "application",
                "bom-ref": ours,
                "name": ROOT_PACKAGE,
                "version": version,
                "purl": ours,
                "licenses": [{"license": {"id": LICENCE}}],
            },
        },
        "components": [_component(one) for one in rows],
        "dependencies": [
            {"ref": ours, "dependsOn": sorted(direct)},
            *({"ref": refs[one.name], "dependsOn": needs[one.name]} for one in rows),
        ],
    }


def _ref(name: str, version: str) -> str:
    """The package URL, which also serves as the reference within the document."""
    return f"pkg:pypi/{name}@{version}"


def _component(one: Package) -> dict[str, Any]:
    result: dict[str, Any] = {
        "type": "library",
        "bom-ref": _ref(one.name, one.version),
        "name": one.name,
        "version": one.version,
        "purl": _ref(one.name, one.version),
        # What another platform needs is not part of an installation here.
        "scope": "required" if one.counts_here else "excluded",
    }
    if licences := _licences(one):
        result["licenses"] = licences
    if one.hashes:
        result["externalReferences"] = [
            {
                "type": "distribution",
                "url": f"https://pypi.org/project/{one.name}/{one.version}/",
                "comment": "each file that the lock admits",
                "hashes": [{"alg": "SHA-256", "content": digest} for digest in one.hashes],
            }
        ]
    if one.marker:
        result["properties"] = [{"name": "gatepost:marker", "value": one.marker}]
    return result


def _licences(one: Package) -> list[dict[str, Any]]:
    """As the installed package declares them: an SPDX expression, or names."""
    try:
        fields = metadata(one.name)
    except PackageNotFoundError:
        return []
    if fields["Version"] != one.version:
        return []
    if expression := fields.get("License-Expression"):
        return [{"expression": expression}]
    names = [
        line.rpartition(" :: ")[2]
        for line in fields.get_all("Classifier") or []
        if line.startswith("License :: ") and not line.endswith(":: OSI Approved")
    ]
    text = (fields.get("License") or "").strip()
    if not names and 0 < len(text) <= LICENCE_NAME_MAX and "\n" not in text:
        names = [text]
    return [{"license": {"name": name}} for name in sorted(set(names))]
