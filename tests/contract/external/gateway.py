"""The MCP gateway in the test's own process, up to where a call would be sent to its server."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from approvals import queries as requests
from approvals.policies import changes as policies
from approvals.policies.drafts import Draft
from dashboard.gateway import calls
from dashboard.gateway.calls import Call, Held
from dashboard.gateway.conversations import Client, Conversations
from dashboard.gateway.registry import queries as servers
from dashboard.gateway.registry.changes import Wanted
from dashboard.identity import tokens
from dashboard.identity.permissions import actor_of
from tests.contract.world import World
from tests.support import decisions
from tests.support.cast import Cast
from tests.unit.dashboard.gateway import listing
from tests.unit.dashboard.gateway.servers import accept_mcp_tools, add_mcp_server, list_mcp_tools

ARGS = {"a": 1}


@dataclass
class Gateway:
    """The gateway before one server, as one client of it sees it; nothing is sent anywhere."""

    cast: Cast
    client: Client
    token: str
    conversations: Conversations

    def call(self) -> calls.Begin:
        """The client calls the tool."""
        call = calls.checked(self.client, "add", ARGS)
        assert isinstance(call, Call)
        return calls.begin(self.conversations, call, plain=True, listed=True)

    def held(self) -> UUID:
        """A call that people are asked about; its thread."""
        policies.make(self.cast.workspace, Draft("Adding", "tool == 'add'"), actor="user:0")
        held = self.call()
        assert isinstance(held, Held)
        return held.thread

    def approve(self, thread: UUID) -> None:
        """A manager decides."""
        (one,) = requests.for_thread(thread, open_only=True)
        actor = self.cast.actor("manager")
        decisions.decide(actor, one.id, "approve", proposal_hash=one.proposal_hash)


def gateway_in(world: World) -> Gateway:
    """The gateway before a server with one accepted tool, `add`."""
    cast, admin = world.cast, world.cast.actor("admin")
    row = add_mcp_server(admin, "adders", Wanted(url=listing.address()))
    list_mcp_tools(admin, row.id)
    accept_mcp_tools(admin, row.id, None)
    token = tokens.make(cast.users["operator"], made_by="test", scopes=["work"])[1]
    actor = actor_of(*tokens.presented(token))
    client = Client(actor, servers.server(row.id, workspace=cast.workspace), "")
    return Gateway(cast, client, token, Conversations())
