"""docs/howto/hooks.md: its sender is run against a real web process."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from approvals import queries as gates
from approvals.hooks import changes as hooks
from tests.support.cast import make_cast
from tests.support.site import started_site
from tests.unit.dashboard import scene

TEXT = (Path(__file__).resolve().parents[5] / "docs/howto/hooks.md").read_text()
BLOCKS = re.findall(r"^```python\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)


@pytest.mark.slow
@pytest.mark.requirement("C35")
def test_the_sender_of_the_page_decides_and_is_answered_again(
    real_db: str, capsys: pytest.CaptureFixture[str]
) -> None:
    cast = make_cast()
    row = scene.waiting(cast.workspace, scene.make_agent())
    call_command("hook", "create", "slack", "--as", "admin")
    secret = capsys.readouterr().out.strip()
    call_command("hook", "map", "slack", "U024BE7LH", "manager", "--as", "admin")
    call_command("hook", "confirm", "slack", "U024BE7LH", "--as", "manager")
    (hook,) = hooks.hooks(cast.workspace)
    define, use = (compile(block, "hooks.md", "exec") for block in BLOCKS)
    names: dict[str, Any] = {
        "secret": secret,
        "approval": str(row.id),
        "proposal_hash": row.proposal_hash,
    }
    with started_site(slots=0) as site:
        names["address"] = f"{site.url}/api/v1/hooks/decide/?hook={hook.id}"
        exec(define, names)
        exec(use, names)
        assert names["status"] == 200, names["answer"]
        assert names["answer"]["decided_by"] == f"user:{cast.users['manager'].pk}/hook:slack"
        send = names["send_decision"]
        decision = {
            "approval": str(row.id),
            "verdict": "reject",
            "comment": "late",
            "proposal_hash": row.proposal_hash,
            "by": "U024BE7LH",
        }
        first = send(names["address"], secret, decision, "msg_1")
        again = send(names["address"], secret, decision, "msg_1")
        assert first == again
        assert (first[0], first[1]["approval"]["outcome"]) == (409, "approve")
        assert send(names["address"], secret, decision | {"by": "U1"})[0] == 403
        assert send(names["address"] + "0", secret, decision)[0] == 404
        assert send(names["address"], "whsec_" + "A" * 43 + "=", decision)[0] == 401
    done = gates.approval(row.id, workspace=cast.workspace)
    assert (done.outcome, done.comment) == ("approve", "Read it twice.")


def test_every_status_of_the_table_is_one_that_is_answered() -> None:
    names = {int(code) for code in re.findall(r"^\| (\d{3}) \|", TEXT, re.MULTILINE)}
    assert names == {200, 400, 401, 403, 404, 409, 413, 422}
