"""Every entry point counts who comes: one call too many is 429 and says when to come again."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Iterator
from random import randrange
from typing import Any
from uuid import uuid4

import httpx
import pytest
from django.test import Client
from django.urls import URLPattern, get_resolver

from dashboard.identity import rate_limits, tokens
from tests.contract.operations import SIGNED, document
from tests.support.cast import Cast, make_cast

LIMITS = (
    "GATEPOST_API_PER_ADDRESS",
    "GATEPOST_REPORTS_PER_ADDRESS",
    "GATEPOST_HOOK_PER_MINUTE",
    "GATEPOST_UNKNOWN_PER_ADDRESS",
    "GATEPOST_VIOLATIONS_PER_ADDRESS",
)
# Entry points that have a test of their own, each for its own limit.
ELSEWHERE = {
    "/login/": "identity/test_rate_limits.py",
    "/login/code/": "identity/test_second_factor.py",
    "/sso/callback/": "identity/test_single_sign_on.py",
}


@pytest.fixture(autouse=True)
def one_each(settings: Any) -> None:
    """One call is allowed, and the minute does not end during the two that are made."""
    for name in LIMITS:
        setattr(settings, name, 1)


def a_new_address() -> str:
    """One from which nobody has called."""
    return f"10.{randrange(256)}.{randrange(256)}.{randrange(1, 255)}"


def in_one_minute() -> None:
    left = rate_limits.MINUTE - time.time() % rate_limits.MINUTE
    if left < 3:
        time.sleep(left + 0.1)


def calls() -> Iterator[tuple[str, str, str]]:
    """(method, address, kind) of everything that programs call; ids are of nothing."""
    for path, item in document()["paths"].items():
        for method, spec in item.items():
            address = re.sub(r"\{[^}]*\}", lambda _: str(uuid4()), path)
            yield method, address, "hook" if spec["security"] == SIGNED else "call"
    for one in get_resolver("dashboard.people.scim.urls").url_patterns:
        assert isinstance(one, URLPattern)
        name = re.sub(r"\(\?P<\w+>.*?\)", "1", str(one.pattern)).strip("^").removesuffix("/?$")
        yield "get", f"/scim/v2/{name or 'nothing'}", "call"
    yield "post", "/page-policy/violations/", "open"


def refused(answer: Any) -> None:
    assert answer.status_code == 429, (answer.request, answer.content)
    assert 1 <= int(answer.headers["Retry-After"]) <= rate_limits.MINUTE


@pytest.mark.slow
@pytest.mark.django_db
@pytest.mark.parametrize("who", ["a member", "a stranger"])
def test_the_second_call_of_an_address_is_one_too_many(cast: Cast, who: str) -> None:
    secret = tokens.make(cast.users["operator"], made_by="test", scopes=["read"])[1]
    token = {"a member": secret, "a stranger": "gp_no_such_token"}[who]
    counted = 0
    for method, address, kind in calls():
        if kind == "hook" and who == "a stranger":
            continue  # a hook has no token
        in_one_minute()
        client = Client(REMOTE_ADDR=a_new_address())
        headers = {} if kind == "open" else {"Authorization": f"Bearer {token}"}
        sent = [
            client.generic(method, address, "{}", content_type="application/json", headers=headers)
            for _ in range(2)
        ]
        assert sent[0].status_code != 429, address
        refused(sent[1])
        counted += 1
    assert counted > 150


@pytest.mark.parametrize("who", ["a member", "a stranger", "nobody"])
@pytest.mark.parametrize("address", ["/mcp", "/mcp/", "/mcp/bank/"])
def test_so_is_that_of_an_mcp_client(real_db: str, who: str, address: str) -> None:
    from dashboard import asgi

    secret = tokens.make(make_cast().users["operator"], made_by="test", scopes=["work"])[1]
    token = {"a member": secret, "a stranger": "gp_no_such_token", "nobody": ""}[who]
    body = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    app: Any = asgi.application

    async def ask_twice() -> list[httpx.Response]:
        transport = httpx.ASGITransport(app, client=(a_new_address(), 9))
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            return [await client.post(address, json=body, headers=headers) for _ in range(2)]

    in_one_minute()
    first, second = asyncio.run(ask_twice())
    assert first.status_code != 429
    refused(second)
