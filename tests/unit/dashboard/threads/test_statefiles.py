"""A state changed in an editor: it comes back as it was written, or is refused with its place."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from django.core.management import call_command
from hypothesis import given, settings
from hypothesis import strategies as st

from checkpoints import queries
from checkpoints.errors import InvalidValue
from checkpoints.state.deltas import canonical
from dashboard.documents.yaml_text import yaml_of
from dashboard.kit.terminal.state_files import read_yaml
from dashboard.threads.pause import PAUSE, Pause
from tests.support.cast import Cast
from tests.unit.dashboard import scene
from tests.unit.dashboard.documents.test_yaml import HOSTILE

PLAIN = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53) + 1, 2**53 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0"))
    | st.sampled_from(HOSTILE),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(HOSTILE), inner),
    max_leaves=12,
)


@pytest.mark.slow
@given(PLAIN)
@settings(deadline=None)
def test_whatever_is_written_is_read_back(value: Any) -> None:
    yaml = read_yaml(yaml_of({"value": value}))
    assert canonical(yaml) == canonical({"value": value})


REFUSED = {
    "a: 1\na: 2\n": ("$.a", "twice"),
    "a:\n  - b: 2001-01-01\n": ("$.a[0].b", "quote"),
    "a: 2001-12-14t21:59:43.10-05:00": ("$.a", "quote"),
    "a: no": ("$.a", "quote"),
    "a: Yes": ("$.a", "quote"),
    "a: True": ("$.a", "quote"),
    "a: y": ("$.a", "quote"),
    "a: 010": ("$.a", "quote"),
    "a: 0x1F": ("$.a", "quote"),
    "a: 0o17": ("$.a", "quote"),
    "a: 1_000": ("$.a", "quote"),
    "a: 12:30": ("$.a", "quote"),
    "a: 1e3": ("$.a", "quote"),
    "a: +1": ("$.a", "quote"),
    "a: .5": ("$.a", "quote"),
    "a: .nan": ("$.a", "quote"),
    "a: -.inf": ("$.a", "quote"),
    "a: 9007199254740993": ("$", "2^53"),
    "a: 1.0e+999": ("$", "range"),
    "a:": ("$.a", "no value"),
    "a: !!binary aGk=": ("$.a", "quote"),
    "a: !!set {b}": ("$.a", "tag"),
    "a: !!python/object:os.system x": ("$.a", "quote"),
    "a: &x [1]\nb: *x": ("$.b", "alias"),
    "b: {<<: {a: 1}}": ("$.b", "quote"),
    "1: a": ("$", "isn't text"),
    "? [a]\n: b": ("$", "isn't text"),
    "a: [": ("$", "not YAML"),
    "--- 1\n--- 2": ("$", "not YAML"),
    "a: " + "[" * 200 + "]" * 200: ("", "deep"),
    "a: " + "[" * 100_000: ("$", ""),
}


@pytest.mark.slow
@pytest.mark.requirement("B11")
@pytest.mark.parametrize("text", REFUSED, ids=lambda t: t[:20])
def test_what_could_be_read_in_two_ways_is_refused(text: str) -> None:
    path, message = REFUSED[text]
    with pytest.raises(InvalidValue) as refused:
        read_yaml(text.encode())
    assert refused.value.path.startswith(path)
    assert message in refused.value.reason


# ---- the commands --------------------------------------------------------------------------------


def run(*words: str) -> tuple[int, str, str]:
    out, err = io.StringIO(), io.StringIO()
    try:
        call_command("threads", *words, stdout=out, stderr=err)
        return 0, out.getvalue(), err.getvalue()
    except SystemExit as stop:
        return int(stop.code or 0), out.getvalue(), err.getvalue()


@pytest.fixture
def paused(cast: Cast) -> UUID:
    thread = scene.start(cast.workspace, scene.make_agent())
    PAUSE.run(cast.actor("operator"), Pause(), thread)
    return thread


def written(thread: UUID, to: Path) -> Path:
    form = "--yaml" if to.suffix == ".yaml" else "--json"
    code, out, errors = run("state", str(thread), form)
    assert code == 0, errors
    to.write_text(out)
    return to


@pytest.mark.django_db
@pytest.mark.requirement("B11")
@pytest.mark.parametrize("name", ["state.yaml", "state.json"])
def test_a_variable_is_changed_in_an_editor(
    cast: Cast, paused: UUID, tmp_path: Path, name: str
) -> None:
    file = written(paused, tmp_path / name)
    code, _, errors = run("edit", str(paused), "--from", str(file), "--reason", "x", "--yes")
    assert (code, errors) == (0, "The file says what the state says; nothing was done.\n")
    before = queries.thread(paused, workspace=cast.workspace)
    goal = queries.state_at(paused, before.head)["goal"]
    file.write_text(file.read_text().replace(goal, "weather", 1))

    code, out, errors = run("edit", str(paused), "--from", str(file), "--reason", "why")
    assert (code, "--yes" in errors) == (2, True)
    assert "replace /goal" in errors
    assert queries.thread(paused, workspace=cast.workspace).head == before.head
    code, out, errors = run("fork", str(paused), "--from", str(file), "--yes", "--json")
    assert code == 0, errors
    fork = UUID(json.loads(out)["id"])
    assert queries.thread(paused, workspace=cast.workspace).head == before.head
    code, out, errors = run("edit", str(paused), "--from", str(file), "--reason", "why", "--yes")
    assert code == 0, errors
    for one in (paused, fork):
        row = queries.thread(one, workspace=cast.workspace)
        assert queries.state_at(one, row.head)["goal"] == "weather"
    # The file is of a checkpoint that is not the head any more.
    code, _, errors = run("edit", str(paused), "--from", str(file), "--reason", "again", "--yes")
    assert (code, "has continued since" in errors) == (1, True)
    assert run("fork", str(paused), "--from", str(file), "--yes")[0] == 0


@pytest.mark.django_db
def test_nothing_but_the_state_may_differ(cast: Cast, paused: UUID, tmp_path: Path) -> None:
    file = written(paused, tmp_path / "state.json")
    good = json.loads(file.read_text())
    head = queries.thread(paused, workspace=cast.workspace).head
    bad: dict[str, dict[str, Any]] = {
        "$.more": good | {"more": 1},
        "$.name": good | {"name": "other"},
        "$.step": good | {"step": 7},
        "$.context.number": good | {"context": good["context"] | {"number": 3}},
        "$.artifacts": good | {"artifacts": [{"$artifact": "0" * 64}]},
        "$.state.goal": good | {"state": {k: v for k, v in good["state"].items() if k != "goal"}},
        "$.colour": good | {"state": good["state"] | {"colour": "red"}},
        "$.goal": good | {"state": good["state"] | {"goal": 7}},
        "another thread": good | {"context": good["context"] | {"thread": "x"}},
        "must be an object": [],  # type: ignore[dict-item]
    }
    for said_so, value in bad.items():
        file.write_text(json.dumps(value))
        code, _, errors = run("edit", str(paused), "--from", str(file), "--reason", "x", "--yes")
        assert code == 1, (said_so, errors)
        assert said_so in errors.replace("$.changes", "$"), errors
    file.write_text(json.dumps(good).replace('"goal"', '"goal": 1, "goal"', 1))
    assert "twice" in run("edit", str(paused), "--from", str(file), "--reason", "x", "--yes")[2]
    assert run("edit", str(paused), "--from", str(tmp_path / "no.json"), "--reason", "x")[0] == 3
    both = run("edit", str(paused), "--from", str(file), "--set", "goal=x", "--reason", "x")
    assert both[0] == 2
    assert queries.thread(paused, workspace=cast.workspace).head == head
