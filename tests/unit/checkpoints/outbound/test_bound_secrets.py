"""The list of secrets that admins choose from: its form, and what may go where."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from checkpoints.outbound import bound_secrets
from checkpoints.outbound.bound_secrets import place_of, refusal
from dashboard.configuration import secrets
from dashboard.configuration.sources import Misconfigured

NAME = "GATEPOST_WORKSPACE_SECRETS"
LIST = '{"mine": {"GATEPOST_SECRET_A": ["a.example", "http://b.internal:8000", "c.internal:*"]}}'
pytestmark = pytest.mark.requirement("F07")


@pytest.fixture
def listed(monkeypatch: pytest.MonkeyPatch, settings: Any) -> None:
    monkeypatch.setenv(NAME, LIST)
    settings.GATEPOST_WORKSPACE_SECRETS = secrets.of_workspaces()


@pytest.mark.parametrize(
    ("url", "may"),
    [
        ("https://a.example/mcp", True),
        ("https://A.Example:443/other", True),
        ("http://b.internal:8000/", True),
        ("https://c.internal:9/", True),
        ("http://a.example/mcp", False),
        ("https://a.example:8443/mcp", False),
        ("https://a.example.evil.example/", False),
        ("https://evil.example/a.example", False),
        ("https://sub.a.example/", False),
        ("https://b.internal:8000/", False),
        ("http://c.internal:9/", False),
        ("command:npx", False),
        ("command:c.internal:9", False),
    ],
)
def test_a_secret_goes_to_its_places_only(listed: None, url: str, may: bool) -> None:
    assert (refusal("GATEPOST_SECRET_A", "mine", place_of(url)) == "") is may


def test_another_workspace_has_other_secrets(listed: None) -> None:
    assert bound_secrets.names_of("mine") == ["GATEPOST_SECRET_A"]
    assert bound_secrets.names_of("theirs") == []
    for name, workspace in (("GATEPOST_SECRET_A", "theirs"), ("GATEPOST_SECRET_B", "mine")):
        assert "is not a secret of this workspace" in refusal(
            name, workspace, "https://a.example:443"
        )


def test_the_list_may_stand_in_a_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "list.json").write_text(LIST.replace(", ", ",\n"))
    monkeypatch.delenv(NAME, raising=False)
    monkeypatch.setenv(f"{NAME}_FILE", str(tmp_path / "list.json"))
    assert set(secrets.of_workspaces()) == {"mine"}


@pytest.mark.parametrize(
    "text",
    [
        "[]",
        "{",
        '{"mine": []}',
        '{"mine": {"GATEPOST_SECRET_A": "a.example"}}',
        '{"mine": {"GATEPOST_SECRET_A": [1]}}',
        '{"mine": {"GATEPOST_SECRET_A": [""]}}',
        '{"mine": {"GATEPOST_SECRET_A": ["*"]}}',
        '{"mine": {"GATEPOST_SECRET_A": ["*.example"]}}',
        '{"mine": {"GATEPOST_SECRET_A": ["ftp://a.example"]}}',
        '{"mine": {"GATEPOST_SECRET_A": ["user@a.example"]}}',
        '{"mine": {"GATEPOST_SECRET_A": ["a.example:no"]}}',
        '{"mine": {"GATEPOST_SECRET_A": ["command:"]}}',
        '{"mine": {"GATEPOST_SECRET_KEY": ["a.example"]}}',
        '{"mine": {"GATEPOST_SECRET_KEY_FILE": ["a.example"]}}',
        '{"mine": {"DATABASE_URL": ["a.example"]}}',
    ],
)
def test_what_is_no_list_ends_the_start(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(NAME, text)
    with pytest.raises(Misconfigured):
        secrets.of_workspaces()
