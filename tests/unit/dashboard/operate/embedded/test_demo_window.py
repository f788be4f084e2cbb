"""The demo lets each decision be taken back; elsewhere the setting stands."""

from __future__ import annotations

import os
from pathlib import Path
from unittest import mock

import pytest

from dashboard.operate.embedded.arguments import from_command_line, into_environment

NAME = "GATEPOST_UNDO_WINDOWS"


@pytest.mark.parametrize(
    ("flags", "setting", "expected"),
    [
        (["--fleet"], None, "10,10,10"),
        (["--fleet"], "0,0,3", "0,0,3"),
        ([], None, None),
    ],
)
def test_a_fleet_has_ten_seconds_for_each_risk(
    tmp_path: Path, flags: list[str], setting: str | None, expected: str | None
) -> None:
    with mock.patch.dict(os.environ):
        os.environ.pop(NAME, None)
        if setting is not None:
            os.environ[NAME] = setting
        into_environment(from_command_line(["--data-dir", str(tmp_path), *flags]))
        assert os.environ.get(NAME) == expected
