"""Private names of other modules and of libraries: each use is listed; the lists only shrink."""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import re
from collections.abc import Iterator

from tools.size import FLOORS, parsed

from .sources import name, product

# Ruff refuses all others (SLF001). Each line says its reason beside the name of the rule.
ATTRIBUTES = {
    "dashboard/kit/shapes/django_request.py": ["_request"],
    "dashboard/operate/probes.py": ["_has_been_logged"],
    "workers/authoring/frozen.py": ["_items"],
    "workers/authoring/graph.py": ["_getframe"],
    "workers/slot/losses.py": ["_max_workers", "_adjust_thread_count"],
    "workers/slot/saga_record.py": ["_step"],
    "workers/step/swallowed_stops.py": ["_step", "_node"],
    "workers/step/guard.py": ["_getframe", "_getframe"],
    "workers/testing/harness.py": ["_step", "_node"],
}
IMPORTS = {
    # A thread that the node at work need not wait for until it has had its first turn.
    "workers/slot/heartbeat.py": ["_thread"],
    # LangGraph names the form of its checkpoints nowhere else.
    "gatepost/langgraph/channels.py": ["_checkpoint"],
    # A value that LangGraph writes for channels that store changes only.
    "clients/python/src/gatepost_client/langgraph/forms.py": ["_DeltaSnapshot", "_DeltaSnapshot"],
}
OVERRIDDEN = {
    # A form whose values the floor below checks; Django would fill the row and check it itself.
    "checkpoints.admin.people.UnsavedForm._post_clean",
    # What Django's documentation tells a storage of one's own to write.
    "checkpoints.payloads.s3.ObjectStorage._open",
    "checkpoints.payloads.s3.ObjectStorage._save",
    # drf-spectacular has no public place for what all operations answer.
    "dashboard.kit.api.openapi.Described._get_response_bodies",
}
MARK = re.compile(r"#\s*noqa:[^#\n]*SLF001(?P<reason> - \w.*)?")
PRIVATE = re.compile(r"_[a-zA-Z]\w*")


def test_private_attributes_are_used_only_where_they_are_listed() -> None:
    uses: dict[str, list[str]] = {}
    for path in product():
        for line in path.read_text().splitlines():
            if mark := MARK.search(line):
                assert mark["reason"], f"{name(path)} gives no reason: {line.strip()}"
                names = re.findall(r"[\w)\]]\.(_[a-zA-Z]\w*)", line[: mark.start()])
                uses.setdefault(name(path), []).extend(n for n in names if not n.startswith("__"))
    assert uses == ATTRIBUTES


def imported(tree: ast.AST) -> Iterator[str]:
    """The modules and names that a module imports, each part by itself."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield from alias.name.split(".")
        elif isinstance(node, ast.ImportFrom):
            yield from (node.module or "").split(".")
            yield from (alias.name for alias in node.names)


def test_private_names_are_imported_only_where_they_are_listed() -> None:
    uses = {
        name(path): private
        for path in product()
        if (private := [n for n in imported(parsed(path)) if PRIVATE.match(n)])
    }
    assert uses == IMPORTS


SINGLE_SIGN_ON = {"dashboard.people.sso.provider", "dashboard.people.directory.single_sign_on"}


def classes() -> Iterator[type]:
    """Every class of the product."""
    for floor in FLOORS:
        package = importlib.import_module(floor)
        for info in pkgutil.walk_packages(package.__path__, f"{floor}."):
            if "migrations" in info.name or info.name.endswith("__main__"):
                continue
            if info.name.startswith("gatepost.langgraph"):
                continue  # LangGraph is not installed here
            if info.name in SINGLE_SIGN_ON:
                continue  # loads only where the settings name a provider
            module = importlib.import_module(info.name)
            for value in list(vars(module).values()):
                if inspect.isclass(value) and value.__module__ == info.name:
                    yield value


def test_private_methods_of_libraries_are_overridden_only_where_they_are_listed() -> None:
    overridden = {
        f"{one.__module__}.{one.__qualname__}.{method}"
        for one in classes()
        for method, value in vars(one).items()
        if PRIVATE.fullmatch(method)
        and inspect.isfunction(value)
        # What Python writes into every enum is no override.
        and not method.endswith("_")
        for base in one.__mro__[1:]
        if base.__module__.split(".")[0] not in FLOORS and method in vars(base)
    }
    assert overridden == OVERRIDDEN
