"""Keys that people choose and that a template could take for methods."""

from __future__ import annotations

import pytest

from checkpoints import store
from dashboard.html.templatetags.mappings import pairs
from tests.support.cast import Cast
from tests.unit.dashboard import scene

METHODS = ("items", "keys", "values", "get", "count")


@pytest.mark.parametrize("mapping", [None, {}, {name: f"a {name}" for name in METHODS}])
def test_pairs_of_any_mapping(mapping: dict[str, str] | None) -> None:
    assert dict(pairs(mapping)) == (mapping or {})


@pytest.mark.django_db
def test_labels_and_settings_with_names_of_methods_are_shown(cast: Cast) -> None:
    thread = store.start(
        scene.make_agent(),
        input={"goal": "delays"},
        workspace=cast.workspace,
        actor="user:1",
        labels={name: f"label {name}" for name in METHODS},
        config={name: f"setting {name}" for name in METHODS},
    )
    client = cast.client("operator")
    page = client.get(f"/threads/{thread}/").content.decode()
    anatomy = client.get(f"/threads/{thread}/?tab=anatomy").content.decode()
    for name in METHODS:
        assert f"label {name}" in page
        assert f"setting {name}" in page
        assert f"<dt>{name}</dt>" in anatomy
