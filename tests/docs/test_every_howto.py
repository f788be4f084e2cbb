"""Each how-to is performed by a test, and a block that is new on a page needs a test that knows it.

Pages of `COMPLETE` are taken apart by tests/docs/performing.py, which fails for each block, call,
command and address that was neither performed nor left out with a reason. The others have tests of
their own, whose files are named here with the number of blocks that they know.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.units import FENCE, HOWTOS

ROOT = Path(__file__).parents[2]
PERFORMED = "tests/docs/performed"
# {page: the test that performs each unit of it}
COMPLETE = {
    "admin": f"{PERFORMED}/test_admin.py",
    "anchors": f"{PERFORMED}/test_anchors.py",
    "approvals": f"{PERFORMED}/test_approvals.py",
    "board": f"{PERFORMED}/test_board.py",
    "capsule": f"{PERFORMED}/test_capsule.py",
    "commands": f"{PERFORMED}/commands/test_commands.py",
    "compare-and-replay": f"{PERFORMED}/test_compare_and_replay.py",
    "encrypted-channels": f"{PERFORMED}/test_encrypted_channels.py",
    "hooks": f"{PERFORMED}/test_hooks.py",
    "incidents": f"{PERFORMED}/test_incidents.py",
    "memory": f"{PERFORMED}/test_memory.py",
    "notifications": f"{PERFORMED}/test_notifications.py",
    "policies": f"{PERFORMED}/test_policies.py",
    "sign-in": f"{PERFORMED}/test_sign_in.py",
    "tour": "tests/browser/howtos/test_tour.py",
}
# {page: (the test that performs its blocks, their number)}
ELSEWHERE = {
    "api": ("tests/contract/test_howto_api.py", 29),
    "ask-the-record": ("tests/docs/test_howto_ask_the_record.py", 4),
    "audit": ("tests/docs/test_howto_audit.py", 11),
    "backup": ("tests/faults/servers/test_backup.py", 2),
    "costs": ("tests/docs/test_howtos_performed.py", 2),
    "deploy": ("tests/house/deploy/test_units.py", 12),
    "erasure": ("tests/docs/test_howtos_performed.py", 4),
    "external-agents": ("tests/contract/test_howto_api.py", 19),
    "from-zero": ("tests/faults/services/test_from_zero.py", 7),
    "langgraph": ("tests/contract/clients/frameworks/langgraph/test_howto.py", 5),
    "langgraph-on-workers": ("tests/unit/contrib/langgraph/inside/test_howto.py", 4),
    "many-agents": ("tests/docs/test_many_agents.py", 3),
    "mcp-gateway": ("tests/unit/dashboard/gateway/calls/test_howto.py", 21),
    "mcp-server": ("tests/contract/test_howto_api.py", 17),
    "models": ("tests/unit/workers/language/test_howto.py", 8),
    "monitor": ("tests/unit/dashboard/operate/test_monitoring.py", 2),
    "object-storage": ("tests/unit/dashboard/configuration/test_storage.py", 2),
    "openai-agents": ("tests/contract/clients/frameworks/openai_agents/test_openai_agents.py", 5),
    "opentelemetry": ("tests/unit/workers/tracing/test_howto.py", 4),
    "payloads": ("tests/unit/payloads/test_folder.py", 3),
    "payments": ("tests/browser/howtos/test_payments.py", 1),
    "pydantic-ai": ("tests/contract/clients/frameworks/pydantic_ai/test_pydantic_ai.py", 6),
    "python-client": ("tests/contract/clients/test_howto.py", 3),
    "shipped-agents": ("tests/browser/howtos/test_shipped_agents.py", 4),
    "stop-threads": ("tests/docs/test_howtos_performed.py", 2),
    "talk": ("tests/docs/test_talk.py", 4),
    "tool-loop": ("tests/unit/workers/react/test_howto.py", 2),
    "write-an-agent": ("tests/faults/embedded/test_write_an_agent.py", 30),
}


def test_each_page_has_a_test() -> None:
    pages = {path.stem for path in HOWTOS.glob("*.md")}
    assert pages == COMPLETE.keys() | ELSEWHERE.keys()
    assert COMPLETE.keys().isdisjoint(ELSEWHERE)


@pytest.mark.parametrize("page", COMPLETE)
def test_a_complete_page_lets_nothing_slip_in(page: str) -> None:
    test = (ROOT / COMPLETE[page]).read_text()
    assert f'Performance("{page}"' in test
    assert ".complete(" in test


@pytest.mark.parametrize("page", ELSEWHERE)
def test_a_new_block_of_another_page_is_noticed(page: str) -> None:
    name, known = ELSEWHERE[page]
    assert page in (ROOT / name).read_text(), f"{name} does not name {page}"
    blocks = len(FENCE.findall((HOWTOS / f"{page}.md").read_text()))
    assert blocks == known, f"{name} performs {known} blocks of {page}.md; it has {blocks}"
