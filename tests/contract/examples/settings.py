"""Policies, endpoints, hooks, MCP servers."""

from __future__ import annotations

from collections.abc import Callable

from dashboard.gateway.registry.definitions import definition_of, hash_of
from tests.contract.example_calls import (
    ADMIN,
    LOOKS,
    NO_TOKEN,
    Call,
    on_endpoint,
    on_hook,
    on_server,
)
from tests.contract.world import World
from tests.unit.dashboard.gateway import listing

EXAMPLES: dict[str, Callable[[World], Call]] = {
    "policies_list": lambda w: Call(),
    "policies_retrieve": lambda w: Call({"policy_id": str(w.policy)}),
    "policies_make": lambda w: Call(
        body={
            "name": "Large sums",
            "condition": "amount(args.total) > 1000",
            "terms": {"stages": [{"people": ["manager"], "count": 1}], "four_eyes": True},
            "deadline": 3600.0,
            "risk": "high",
        },
        who=ADMIN,
        reach=NO_TOKEN,
        status=201,
    ),
    "policies_change": lambda w: Call(
        {"policy_id": str(w.policy)},
        body={
            "draft": {"name": "Mails", "condition": "tool == 'mail' && agent == 'a'"},
            "number": 1,
            "active": False,
        },
        who=ADMIN,
        reach=NO_TOKEN,
    ),
    "policies_try": lambda w: Call(
        body={"condition": "tool == 'publish'"}, who=ADMIN, reach=NO_TOKEN
    ),
    "endpoints_list": lambda w: Call(who=LOOKS),
    "endpoints_make": lambda w: Call(
        body={"kind": "email", "name": "reviewers", "digest": 15}, who=ADMIN, status=201
    ),
    "endpoints_retrieve": lambda w: on_endpoint(w.hook, who=LOOKS),
    "endpoints_change": lambda w: on_endpoint(
        w.hook, body={"name": "agent", "events": ["approval.decided"]}, who=ADMIN
    ),
    "endpoints_rotate": lambda w: on_endpoint(w.hook, body={"overlap": 3600}, who=ADMIN),
    "endpoints_switch": lambda w: on_endpoint(w.hook, body={"active": False}, who=ADMIN),
    "endpoints_test": lambda w: on_endpoint(w.hook, body={}, who=ADMIN, status=202),
    "hooks_list": lambda w: Call(who=LOOKS),
    "hooks_make": lambda w: Call(body={"name": "pager"}, who=ADMIN, status=201),
    "hooks_retrieve": lambda w: on_hook(w.inbound, who=LOOKS),
    "hooks_rotate": lambda w: on_hook(w.inbound, body={"keep": 3600}, who=ADMIN),
    "hooks_switch": lambda w: on_hook(w.inbound, body={"active": False}, who=ADMIN),
    "hooks_map": lambda w: on_hook(
        w.inbound, body={"identity": "U024BE7LH", "user": "operator"}, who=ADMIN
    ),
    "hooks_unmap": lambda w: on_hook(w.inbound, body={"identity": "U1"}, who=ADMIN),
    "mcp_servers_list": lambda w: Call(),
    "mcp_servers_add": lambda w: Call(
        body={"name": "mail", "url": "https://mail.example/mcp"}, who=ADMIN, status=201
    ),
    "mcp_servers_retrieve": lambda w: on_server(w.mcp),
    "mcp_servers_change": lambda w: on_server(
        w.mcp, body={"credential": "GATEPOST_SECRET_MAIL", "active": False}, who=ADMIN
    ),
    "mcp_servers_remove": lambda w: on_server(w.mcp, body={}, who=ADMIN),
    "mcp_servers_tools": lambda w: on_server(w.mcp, body={}, who=ADMIN),
    "mcp_servers_accept": lambda w: on_server(
        w.mcp, body={"tools": {"add": hash_of(definition_of(listing.FORMER))}}, who=ADMIN
    ),
    "mcp_servers_mode": lambda w: on_server(w.mcp, body={"tool": "add", "mode": "ask"}, who=ADMIN),
}
