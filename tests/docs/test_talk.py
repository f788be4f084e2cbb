"""The how-to "Talk with an agent": its agent listens, its program loses the line and comes back."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import redis
from django.test import override_settings

from dashboard.identity import tokens
from tests.support.cast import make_cast
from tests.support.site import started_site
from workers.language import transcription
from workers.language.configuration import model_of
from workers.language.endpoints import WireEndpoint

pytestmark = [pytest.mark.slow, pytest.mark.requirement("A33")]
TEXT = (Path(__file__).parents[2] / "docs/howto/talk.md").read_text()
BLOCKS = re.findall(r"^```(\w+)(?: title=\"([\w.]+)\")?\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)


def test_the_program_of_the_page_prints_what_the_page_says(
    real_db: str, hot_store: redis.Redis, tmp_path: Path
) -> None:
    expected = next(text for kind, _, text in BLOCKS if kind == "text").splitlines()
    for _, name, text in BLOCKS:
        if name:
            (tmp_path / name).write_text(text)
    cast = make_cast()
    token = tokens.make(cast.users["operator"], made_by="user:0", scopes=["start"])[1]
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    with started_site(slots=1, GATEPOST_AGENTS="reception", PYTHONPATH=path) as site:
        done = subprocess.run(
            [sys.executable, "talk.py"],
            cwd=tmp_path,
            env=os.environ | {"GATEPOST_URL": site.url, "GATEPOST_TOKEN": token},
            capture_output=True,
            text=True,
            timeout=90,
        )
    assert done.returncode == 0, done.stderr + site.log("web")[-2000:]
    # The agent answers when it has its turn: before the line is back, or after.
    assert sorted(done.stdout.splitlines()) == sorted(expected), site.log("worker")[-2000:]


def test_the_speech_servers_of_the_page_are_understood() -> None:
    lines = next(text for kind, _, text in BLOCKS if kind == "sh").splitlines()
    for line in lines:
        value = re.sub(r"\s*#.*", "", line.partition("=")[2])
        assert isinstance(model_of(value, transcription.SETTING), WireEndpoint)
        with override_settings(GATEPOST_SPEECH=value):
            assert transcription.is_configured()
    assert len(lines) == 2
