"""Each spelling of a tool, called through the MCP gateway: none escapes a policy that names it."""

from __future__ import annotations

import pytest
from django.db import connection

from approvals.policies import changes as policies
from approvals.policies.drafts import Draft
from dashboard.gateway import calls
from dashboard.gateway.calls import Held
from dashboard.gateway.registry import changes as registry
from tests.unit.dashboard.gateway import listing

from .gateway import Gateway
from .test_names_and_kinds import SPELLINGS

pytestmark = [pytest.mark.django_db, pytest.mark.requirement("E02")]


@pytest.mark.slow
@pytest.mark.parametrize("tool", ["charge", *SPELLINGS])
def test_no_spelling_escapes_the_gateway(gateway: Gateway, tool: str) -> None:
    policies.make(gateway.cast.workspace, Draft("Charges", "tool == 'charge'"), actor="user:0")
    definition = {**listing.TOOL, "name": tool}
    registry.note_listed(gateway.client.server, [definition], actor="user:0")
    with connection.cursor() as cursor:  # as accepted before there was a rule about names
        cursor.execute(
            "UPDATE gp_mcp_tool SET accepted = listed, accepted_hash = listed_hash "
            "WHERE name = %s::varchar",
            (tool,),
        )
    call = calls.checked(gateway.client, tool, {"a": 1})
    assert isinstance(call, calls.Call)
    begun = calls.begin(gateway.conversations, call, plain=True, listed=True)
    assert isinstance(begun, Held), ascii(tool)
