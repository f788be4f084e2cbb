"""Every bound of the document is the server's: what lies on it is taken, what lies beyond refused.

Generated from the document for all calls: types, null, enums, formats, patterns, lengths, counts,
least and most, required members and unknown ones, of parameters and of bodies.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from tests.contract.calls import example, send
from tests.contract.operations import document, operations
from tests.contract.world import World
from tests.contract.written import taken_back

from . import bounds
from .bounds import Member, inside, members, outside, path_of, put, resolved, stands_in

# Place of a call: what may be said of a value that the document allows, since more than its schema
# decides: another member, or what there is. Anything else said of it fails.
DEPENDS = {
    r"approvals_decide(_many)? verdict": "Possible here",  # says the request: `verdicts`
    r"approvals_decide(_many)? what_next": "goes with the verdict reject",
    r"approvals_list (mine|thread)": "goes with",
    r"approvals_hand_over to": "must be the user name of an active reviewer",
    r"deputies_name (deputy|person)": "no active reviewer",
    r"deputies_name ends": "must be later than the beginning",
    r"devices_add (p256dh|auth)": "is not a key of a browser|is not a secret",
    r"devices_add address": "must begin with https|must be an address",
    r"second_factor_add ticket": "is no longer valid",  # is signed
    r"second_factor_add code": "is not the one that the app shows",
    r"users_password password": "This password is too",  # says the list of common ones
    r"endpoints_\w+ (digest|people|teams)(\[\])?": "nobody and no team|are for mail|is for people",
    r"endpoints_\w+ target": "must b|is not an address|is not complete",  # of its kind
    r"mcp_servers_\w+ url": "must be http|or a command is needed",
    r"mcp_servers_\w+ command(\[\])?": "begins with a program|or a command is needed",
    r"mcp_servers_\w+ credential": "is not a secret of this workspace",
    r"mcp_servers_\w+ credential_to": "is needed",
    r"policies_\w+ (draft\.)?condition": "cannot be read|knows no|must be true",  # is CEL
    r"policies_\w+ .*(people|teams|stages)(\[\])?": "is not a reviewer|is the name of no team",
    r"policies_\w+ .*\.count": "asks for",
    r"policies_\w+ .*on_expiry": "needs a deadline|say who is asked",
    r"policies_\w+ .*reminders(\[\])?": "must be later|must be from 1",
    r"policies_\w+ .*escalate_(to|for)": "goes with on_expiry|name who is asked",
    r"policies_change (draft|number)": "is required with number|name the version",
    r"policies_change position": "must be from 1 to",  # the policies that there are
    r"budgets_set name": "names the agent or team|is longer than 100",  # goes with the scope
    r"budgets_set max_(cost|tokens)": "or both",
    r"overview_retrieve (from|to)": "must be a day|is too|is after",
    r"overview_retrieve period": "is not taken beside from and to",
    r"records_\w+ (since|until)": "date or a time|date or time",
    r"records_\w+ amount_(from|to)": "must be an amount|must be a number",
    r"records_\w+ kind": "is not a kind of event",
    r"records_\w+ cursor": "is not one that an answer",
    r"subscriptions_\w+ escalate_minutes": "belongs to escalate_to",
    r"subscriptions_make (person|team)": "nobody is called|no team|not both|either",
    r"views_\w+ address": "does not take|names “|character|begins no letter",  # the board's words
    r"threads_cancel undo_unknown": "goes with undo",
    r"threads_many (to|undo|then_retry)": "goes with (roll_back|cancel|edit)",
    r"threads_many changes": "go with edit",
    r"threads_skip node": "has no such node",
    r"threads_(edit|roll_back) reason": "is required",  # but in a preview
    r"threads_edit changes": "change at least one",
    r"threads_input message": "must be text",  # says the agent
    r"external_ask ask": "takes an interrupt, a question or an effect",
    r"threads_list cursor": "is not a cursor",
    r"threads_(pause before_node|start pause_at)": "has no such node",
    r"\w+ external\.searchable(\[\])?": "a query could not name it|grows|is not a channel",
    r"threads_start agent": "No worker has announced",
    r"threads_start input(\..*)?": "is required",  # says the agent
    r"external_\w+ (\w+\[\]\.)?(tool|node)": "did not announce a|is a call, so name what",
    # Of members that stand together, as bodies made up whole have them.
    r".*": r"NUL character|beyond 2\^53",  # the document's introduction says both, and of names:
    r"\w+ (.*\.)?(agent|bucket|node|tool|key|name)": (
        "nobody sees|blank of another kind|ends with a blank|normal form NFC|mixes letters"
    ),
    r"\w+_(list|retrieve) cursor": "is not a cursor",
    r"approvals_decide(_many)? (\[\]\.)?args": "are not taken with the verdict",
    r"approvals_list status": "does not go with a box",
    r"breakers_release percent": "not both",
    r"erasures_decide comment": "is required",  # by a refusal
    r"external_ask ask\[\]": "takes an interrupt, a question or an effect",
    r"external_release ": "go with sleeping",
    r"hooks_(un)?map identity": "cannot be seen",
    r"incidents_snooze until": "must be in the next",
    r"memories_remember owner": "is required: which|has at most",  # says the scope
    r"policies_change ": "give a draft",
    r"quiet_hours_set (hours\.)?(zone|ends)": "must be a time zone|must differ",
    r"subscriptions_\w+ (escalate_to|endpoint)": "there is no such",
    r"threads_(edit|fork|start) (changes|input)[.\[].*": "has no such channel",  # says the agent
    r"threads_add_file (text|base64)": "is required, or base64|not both",
    r"threads_capsule children": "not taken with one checkpoint",
    r"threads_many reason": "is required",  # by cancel
    r"threads_settle result": "is not taken with the verdict",
    r"users_make username": "cannot be seen",
}
REFUSED = (400, 422)


def faults(answer: Any) -> list[tuple[str, str]]:
    """(place, what is said of it) of all that an answer refuses."""
    if answer.status_code not in REFUSED:
        return []
    payload = answer.json()
    return [
        (str(payload["path"]), str(payload["detail"])),
        *((one["path"], one["message"]) for one in payload.get("errors", ())),
    ]


def about(answer: Any, path: str) -> list[str]:
    """What an answer says of a place and of what is in it."""
    return [
        message for at, message in faults(answer) if re.match(rf"{re.escape(path)}($|[.\[])", at)
    ]


def check_taken(name: str, field: str, answer: Any, path: str, value: Any) -> None:
    """Fail where a value that the document allows is refused for its own sake."""
    for line in about(answer, path):
        allowed = {why for key, why in DEPENDS.items() if re.fullmatch(key, f"{name} {field}")}
        assert any(re.search(why, line) for why in allowed), (name, field, value, line)


def check_refused(name: str, answer: Any, path: str, value: Any) -> None:
    """Fail where a value that the document forbids is taken, or refused without its place."""
    assert answer.status_code in REFUSED, (name, path, value, answer.status_code)
    assert about(answer, path), (name, path, value, faults(answer))


@pytest.mark.nightly
@pytest.mark.parametrize("name", sorted(operations()))
def test_parameters(world: World, name: str) -> None:
    operation, call = operations()[name], example(world, operations()[name])
    client = world.cast.client(call.who[0])
    for parameter in operation.spec.get("parameters", ()):
        key, where = parameter["name"], parameter["in"]
        member = Member((key,), *resolved(parameter["schema"]))

        def answer(value: Any, where: str = where, key: str = key) -> Any:
            sent = str(value).lower() if isinstance(value, bool) else str(value)
            with taken_back():
                if where == "header":
                    return send(client, operation, call, **{key: sent})
                if where == "path":
                    return send(client, operation, call.but(params={**call.params, key: sent}))
                return send(client, operation, call.but(query={**call.query, key: sent}))

        if where == "path":
            for value in outside(member, typed=False):
                assert 400 <= answer(value).status_code < 500, (key, value)
            continue
        for value in inside(member):
            if value not in ("", None) and (where != "header" or str(value).isascii()):
                check_taken(name, key, answer(value), key, value)
        for value in outside(member, typed=False):
            # An empty parameter is one that is missing; space around a header is none of it.
            text = str(value)
            if text and (where != "header" or (text.isascii() and text == text.strip())):
                check_refused(name, answer(value), key, value)
        if parameter.get("required"):
            query, headers = (
                {k: v for k, v in values.items() if k != key}
                for values in (call.query, call.headers)
            )
            less = call.but(query=query, headers=headers)
            check_refused(name, send(client, operation, less), key, None)


JSON = [n for n, o in sorted(operations().items()) if o.body_type == "application/json"]


def body_schema(name: str) -> dict[str, Any]:
    """What the document says of the body of a call."""
    content = operations()[name].spec["requestBody"]["content"]
    return resolved(content["application/json"]["schema"])[0]


@pytest.mark.nightly
@pytest.mark.parametrize("name", JSON)
def test_bodies(world: World, name: str) -> None:
    operation, call = operations()[name], example(world, operations()[name])
    client = world.cast.client(call.who[0])

    def answer(body: Any) -> Any:
        with taken_back():
            result = send(client, operation, call.but(body=body))
        for path, message in faults(result):
            sent = json.loads(body) if isinstance(body, bytes) else body
            assert stands_in(path, sent), (name, path, message, sent)
        return result

    root = Member((), body_schema(name), nullable=False)
    for member in (root, *members(root.schema)):
        path, field = path_of(member.keys), member.name.removeprefix("[].")
        for value in inside(member) if member.keys else ():
            body = put(call.body, member.keys, value)
            check_taken(name, field, answer(body), path, value)
        for value in outside(member):
            body = put(call.body, member.keys, value) if member.keys else json.dumps(value).encode()
            check_refused(name, answer(body), path, value)
        if member.schema.get("additionalProperties") is False:
            body = put(call.body, (*member.keys, "unknown"), 1)
            check_refused(name, answer(body), f"{path}.unknown", 1)
        for required in member.schema.get("required", ()):
            whole = put(call.body, (*member.keys, required), None)
            body = bounds.dropped(whole, (*member.keys, required))
            check_refused(name, answer(body), f"{path}.{required}", "missing")


# (call, place) of a text or list without a bound of its own, and what bounds it instead.
UNBOUNDED = {
    ("hooks_decide", "webhook-signature"): "the web server bounds headers",
    ("external_settle", "error"): "what is longer is cut off: the effect happened all the same",
    ("external_undo", "error"): "what is longer is cut off: the undo failed all the same",
    ("threads_start", "traceparent"): "ignored where it is malformed, as W3C has it",
}


def unbounded() -> Iterator[tuple[str, str]]:
    """(call, place) of what may be arbitrarily long, in bodies and parameters of all calls."""
    for path in document()["paths"].values():
        for spec in path.values():
            shapes = [
                Member((p["name"],), *resolved(p["schema"]))
                for p in spec.get("parameters", ())
                if p["in"] != "path"
            ]
            for content in spec.get("requestBody", {}).get("content", {}).values():
                shapes += members(resolved(content["schema"])[0])
            for member in shapes:
                schema = member.schema
                bounded = {"enum", "format", "maxLength"} & schema.keys()
                if schema.get("type") == "array":
                    bounded = "maxItems" in schema or "enum" in resolved(schema["items"])[0]
                elif schema.get("type") != "string" or "1,12" in schema.get("pattern", ""):
                    continue
                if not bounded:
                    yield spec["operationId"], member.name


def test_every_text_and_list_has_a_bound_in_the_document() -> None:
    assert dict.fromkeys(unbounded(), "") == dict.fromkeys(UNBOUNDED, "")


def test_the_sweep_is_as_large_as_the_document() -> None:
    """Counted, so that it cannot pass by finding nothing to send."""
    results = [m for name in JSON for m in members(body_schema(name))]
    assert len(results) > 90
    assert sum(1 for m in results for _ in outside(m)) > 600
    assert {"nullable", "pattern", "maxProperties", "uniqueItems", "maxItems"} <= {
        word for m in results for word in (*m.schema, *(["nullable"] if m.nullable else []))
    }
