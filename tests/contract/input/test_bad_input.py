"""Bad input to every call of the document: the right 4xx as problem+json with a path; no change.

The calls come from the OpenAPI document: a new one is tried without being named here.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote
from uuid import uuid4

import pytest
from django.test import Client
from jsonschema import Draft202012Validator

from tests.contract.calls import address, example
from tests.contract.example_calls import Call
from tests.contract.operations import Operation, document, operations
from tests.contract.world import World
from tests.contract.written import everything

from . import hostile

SECONDS = 5.0  # for one answer on a machine that has other things to do
CSRF = "c" * 32
JSON = sorted(one.id for one in operations().values() if one.body_type == "application/json")
# Bodies that are lists of objects; all others are objects.
LISTS = ["approvals_decide_many"]
BODIES = [name for name in JSON if name not in LISTS]
# OTLP ignores members that it does not know, so that newer senders are understood.
STATED = [name for name in BODIES if name != "otlp_traces"]
POSTS = sorted(one.id for one in operations().values() if one.method == "post")
ALL = sorted(operations())


class Entry:
    """One person at one call; counts what was refused."""

    def __init__(self, world: World, operation: Operation) -> None:
        self.world, self.operation = world, operation
        self.call = example(world, operation)
        self.client: Client = world.cast.client(self.call.who[0], enforce_csrf_checks=True)
        self.client.cookies["csrftoken"] = CSRF
        self.refusals = 0

    @property
    def path(self) -> str:
        return address(self.operation, self.call)

    def send(
        self,
        body: bytes = b"",
        *,
        path: str = "",
        kind: str = "application/json",
        method: str = "",
        **headers: str,
    ) -> Any:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        began = time.monotonic()
        answer = self.client.generic(
            method or self.operation.method.upper(),
            path or self.path,
            body,
            content_type=kind,
            headers={"X-CSRFToken": CSRF, **self.call.headers, **named},
        )
        assert time.monotonic() - began < SECONDS
        return answer

    def good_body(self) -> bytes:
        return b"" if self.call.body is None else json.dumps(self.call.body).encode()

    def refused(self, answer: Any, *codes: int, path: str | None = None) -> dict[str, Any]:
        """The problem, which has the form of one; nothing has changed."""
        shown = answer.content[:500]
        assert answer.status_code in codes, (answer.status_code, shown)
        assert answer["Content-Type"] == "application/problem+json", shown
        problem: dict[str, Any] = answer.json()
        assert problem["status"] == answer.status_code
        assert problem["detail"], problem
        assert len(shown) < 500 or len(answer.content) < 10_000  # nothing large is sent back
        if path is not None:
            assert problem["path"] == path, problem
        self.refusals += 1
        return problem

    def unharmed(self, answer: Any) -> None:
        """Whatever it was answered, it is no failure and no page."""
        if answer.status_code >= 400:
            self.refused(answer, 400, 403, 404, 405, 406, 409, 412, 415, 422)


# What is taken away is logged by the workspace.
TAKEN = ("threads_capsule", "records_export")


@pytest.fixture
def entry(world: World, request: pytest.FixtureRequest) -> Iterator[Entry]:
    """Afterwards nothing in the database may be other than before."""
    made = Entry(world, operations()[request.param])
    before = everything()
    yield made
    after = everything()
    logged = {"gp_workspace", "gp_workspace_event"} if request.param in TAKEN else set()
    assert {table for table in before if before[table] != after[table]} <= logged


def every(names: list[str]) -> Any:
    return pytest.mark.parametrize("entry", names, indirect=True)


# --- bodies ---------------------------------------------------------------------------------------


@pytest.mark.slow
@every(BODIES)
def test_values_that_nobody_may_store(entry: Entry) -> None:
    for what, value in hostile.POISONS.items():
        if what == "more digits than a double" and entry.operation.id == "otlp_traces":
            continue  # measurements, which exporters print with 17 digits
        problem = entry.refused(entry.send(hostile.with_poison(entry.call.body, value)), 400)
        closed = "never closed" not in what
        assert problem["path"].startswith("$.poison" if closed else "$"), (what, problem)
    twice = b'{"poison": 1, "poison": 2}'
    entry.refused(entry.send(twice), 400, path="$.poison")


@pytest.mark.slow
@every(BODIES)
def test_bodies_that_are_no_json(entry: Entry) -> None:
    for raw in hostile.UNREADABLE.values():
        entry.refused(entry.send(raw), 400)


@pytest.mark.nightly
@every(POSTS)
def test_bodies_that_are_too_large(entry: Entry) -> None:
    for size in (5 * hostile.MB, 10 * hostile.MB):
        body = hostile.with_poison({}, '"' + "x" * size + '"')
        entry.refused(entry.send(body), *((413,) if entry.operation.id in JSON else (415,)))


@pytest.mark.slow
@every(STATED)
def test_bodies_of_another_shape(entry: Entry) -> None:
    for raw in hostile.NO_OBJECTS:
        entry.refused(entry.send(raw.encode()), 422, path="$")
    entry.refused(entry.send(hostile.with_poison(entry.call.body, "1")), 422, path="$.poison")


@every(LISTS)
def test_lists_with_an_item_that_is_refused(entry: Entry) -> None:
    """Nothing of the list is done where one item cannot even be read."""
    good = entry.call.body[0]
    for what, value in hostile.POISONS.items():
        item = hostile.with_poison(good, value)
        problem = entry.refused(entry.send(b"[" + item + b"]"), 400)
        closed = "never closed" not in what
        assert problem["path"].startswith("$[0].poison" if closed else "$"), (what, problem)
    for raw in hostile.UNREADABLE.values():
        entry.refused(entry.send(raw), 400)
    for raw in ("{}", "1", '"x"', "null", "true", "[]", "[1]", "[[]]", "[null]"):
        entry.refused(entry.send(raw.encode()), 422)
    for change in (
        {"id": "no-id"},
        {"id": 7},
        {"verdict": None},
        {"proposal_hash": 5},
        {"comment": []},
        {"what_next": "explode"},
        {"poison": 1},
    ):
        items = [*entry.call.body, {**good, **change}]
        problem = entry.refused(entry.send(json.dumps(items).encode()), 422)
        assert problem["path"] == f"$[{len(items) - 1}].{next(iter(change))}", problem
    for name in ("id", "verdict", "proposal_hash"):
        rest = {key: value for key, value in good.items() if key != name}
        entry.refused(entry.send(json.dumps([rest]).encode()), 422, path=f"$[0].{name}")
    entry.refused(entry.send(json.dumps([good] * 201).encode()), 422, path="$")


def schema_of(operation: Operation) -> dict[str, Any]:
    """The shape of a call's body."""
    (content,) = operation.spec["requestBody"]["content"].values()
    name = content["schema"]["$ref"].rpartition("/")[2]
    results: dict[str, Any] = document()["components"]["schemas"][name]
    return results


def fits(schema: dict[str, Any], value: Any) -> bool:
    """Whether a member's schema allows a value."""
    whole = {**schema, "components": document()["components"]}
    return Draft202012Validator(whole).is_valid(value)


@pytest.mark.nightly
@every(STATED)
def test_members_of_another_type(entry: Entry) -> None:
    schema = schema_of(entry.operation)
    good = entry.call.body or {}
    for name, value in hostile.misfits(schema, fits):
        problem = entry.refused(entry.send(json.dumps({**good, name: value}).encode()), 422)
        assert problem["path"].startswith(f"$.{name}"), (name, value, problem)
    for name in schema.get("required", ()):
        rest = {key: value for key, value in good.items() if key != name}
        entry.refused(entry.send(json.dumps(rest).encode()), 422, path=f"$.{name}")
        entry.refused(entry.send(b"{}"), 422)
        entry.refused(entry.send(b""), 422)
    assert entry.refusals or not schema.get("properties")
    entry.refused(entry.send(b"[]"), 422)


@pytest.mark.slow
@every(POSTS)
def test_other_content_types(entry: Entry) -> None:
    body = entry.good_body() or b"{}"
    for kind in (
        "text/plain",
        "text/html",
        "application/xml",
        "application/x-www-form-urlencoded",
        "application/merge-patch+json",
        "application/octet-stream",
        "/",
        "json",
        "a/b/c;;;=",
        "application/json" if entry.operation.id not in JSON else "multipart/form-data",
    ):
        entry.refused(entry.send(body, kind=kind), 415, 400)


# --- addresses ------------------------------------------------------------------------------------


def paths(entry: Entry) -> Iterator[str]:
    """The call's path with ids that are unknown, of another workspace, or none."""
    world = entry.world
    others = {
        "thread_id": (world.foreign, world.gate.id),
        "approval_id": (world.foreign_gate.id, world.gate.thread),
        # People have numbers, so 1 may be somebody.
        "user_id": (world.cast.users["stranger"].pk, 2**31 - 1, 2**63, 10**30),
    }
    for name in entry.call.params:
        numbers = [] if name == "user_id" else ["1"]
        ids = [uuid4(), *others.get(name, ()), "no-id", *numbers, "0" * 5_000, "a'b", "%"]
        for value in map(str, ids):
            yield address(entry.operation, Call({**entry.call.params, name: value}))


@pytest.mark.slow
@every([name for name in ALL if "{" in operations()[name].path])
def test_ids_of_nothing_and_of_others(entry: Entry) -> None:
    for path in paths(entry):
        entry.refused(entry.send(entry.good_body(), path=path), 404)
    for raw in ("%00", "%0a", "a%0d%0ab", "%ff", "%ED%A0%80", "..", "%2e%2e%2f"):
        path = entry.operation.path.replace("{thread_id}", raw).replace("{approval_id}", raw)
        path = path.replace("{name}", raw)
        entry.refused(entry.send(entry.good_body(), path=path), 404, 422)


@pytest.mark.nightly
@every(ALL)
def test_other_methods_and_addresses(entry: Entry) -> None:
    known = {one.method for one in operations().values() if one.path == entry.operation.path}
    for method in {"get", "post", "put", "patch", "delete"} - known:
        entry.refused(entry.send(entry.good_body(), method=method.upper()), 405)
    entry.refused(entry.send(entry.good_body(), method="BREW"), 405)
    bare = entry.path.partition("?")[0]
    for path in (
        f"{bare}more/",
        f"{bare}%00",
        f"{bare}%0a",
        bare.rstrip("/") if bare.endswith("/") else f"{bare}/",
        bare.replace("/v1/", "/v0/"),
    ):
        entry.refused(entry.send(entry.good_body(), path=path), 404)
    assert entry.send(entry.good_body(), method="OPTIONS").status_code in (200, 405)


# --- query parameters -----------------------------------------------------------------------------


@pytest.mark.nightly
@every([name for name in ALL if operations()[name].query])
def test_query_parameters(entry: Entry) -> None:
    bare = entry.path.partition("?")[0]
    for name in entry.operation.query:
        rest = "".join(f"{k}={quote(v)}&" for k, v in entry.call.query.items() if k != name)
        for text in hostile.TEXTS:
            path = f"{bare}?{rest}{name}={quote(text)}"
            entry.refused(entry.send(entry.good_body(), path=path), 422, path=name)
        for text in (*map(quote, hostile.ODD_TEXTS), "%FF", "%", "%ED%A0%80", "1&" + name + "=2"):
            path = f"{bare}?{rest}{name}={text}"
            if entry.operation.method == "get":
                entry.unharmed(entry.send(path=path))
            else:
                entry.refused(entry.send(entry.good_body(), path=path), 422, path=name)


@pytest.mark.nightly
@every(ALL)
def test_calls_take_no_other_query_parameters(entry: Entry) -> None:
    """A mistyped name is refused by name, beside good ones too, and so is one that comes twice."""
    bare, _, good = entry.path.partition("?")
    names = entry.operation.query
    typos = {name[:-2] + name[-1] + name[-2] for name in names if len(name) > 2} - {*names}
    for name in sorted(typos | {"previw", "Preview", "wiat", "agnet", "page", "x" * 1_000, "é"}):
        for rest in ("", f"&{good}" if good else ""):
            query = f"{quote(name)}=1{rest}"
            entry.refused(
                entry.send(entry.good_body(), path=f"{bare}?{query}"), 422, path=name[:80]
            )
    for name in ("preview%00=1", "preview[]=1", "%F0%9F%92%A9=1", "=1"):
        entry.refused(entry.send(entry.good_body(), path=f"{bare}?{name}"), 422)
    for name in names:
        value = quote(entry.call.query.get(name, "1"))
        twice = f"{bare}?{name}={value}&{name}={value}"
        problem = entry.refused(entry.send(entry.good_body(), path=twice), 422)
        if not good:
            assert problem["path"] == name


CURSORS = [name for name in ALL if "cursor" in operations()[name].query]
# An export is a file, and asking for one is an event of the workspace.
CURSORS.remove("records_export")


@every(CURSORS)
def test_cursors_of_other_lists(entry: Entry) -> None:
    bare = entry.path.partition("?")[0]
    lists = [operations()[name] for name in CURSORS]
    cursors = ["x", "AAAA", "é", "MjAyNg", str(uuid4()), str(entry.world.foreign_gate.id), "-1"]
    for other in lists:
        if other.id != entry.operation.id:
            call = example(entry.world, other)
            # Without words: a search answers its best matches and has no next page.
            query = {name: text for name, text in call.query.items() if name != "q"}
            query["limit"] = "1"
            page = entry.client.get(address(other, Call(call.params, query)))
            assert page.json()["next_cursor"], other.id
            cursors.append(page.json()["next_cursor"])
    for cursor in cursors:
        numbers = "checkpoints" in entry.operation.id and cursor.isdigit()
        if not numbers:
            path = f"{bare}?cursor={quote(cursor)}"
            entry.refused(entry.send(path=path), 422, path="cursor")


# --- headers --------------------------------------------------------------------------------------


def headers(operation: Operation) -> list[str]:
    return [p["name"] for p in operation.spec.get("parameters", []) if p["in"] == "header"]


@pytest.mark.slow
@every([name for name in ALL if "If-Match" in headers(operations()[name])])
def test_versions(entry: Entry) -> None:
    for value in ("x", '"x"', "-1", '"1", "2"', "9" * 5_000, "٣", '"\x00"', '"1.0"', "é"):
        entry.refused(entry.send(entry.good_body(), If_Match=value), 400, path="If-Match")
    for value in ('"999999"', 'W/"0"', "0"):
        problem = entry.refused(entry.send(entry.good_body(), If_Match=value), 412)
        assert problem["version"] > 0


@pytest.mark.slow
@every([name for name in ALL if "Idempotency-Key" in headers(operations()[name])])
def test_idempotency_keys(entry: Entry) -> None:
    for value in ("", "x" * 256, "\x00", "a\tb", "é"):
        answer = entry.send(entry.good_body(), Idempotency_Key=value)
        entry.refused(answer, 400, path="Idempotency-Key")


@pytest.mark.nightly
@every(ALL)
def test_other_headers(entry: Entry) -> None:
    body = b"" if entry.call.files else entry.good_body()
    entry.refused(entry.send(body, Accept="image/png"), 406)
    entry.refused(entry.send(body, Host="evil.example:99999"), 400)
    if entry.operation.method == "post":
        entry.refused(entry.send(body, X_CSRFToken="d" * 32), 403)
        entry.refused(entry.send(body, X_CSRFToken="\x00"), 403)
    for accept in (";;;", "a/b/c", "application/json;q=x", "*", "é", "x" * 10_000):
        answer = entry.send(path="/api/v1/nowhere/", Accept=accept)
        entry.refused(answer, 404, 406)
    bare = Client(headers={"Authorization": "é" * 100})
    assert bare.get("/api/v1/threads/").status_code == 401


@pytest.mark.nightly
@every(ALL)
def test_cookies_that_are_no_login(entry: Entry) -> None:
    for value in ('"a\\000bcdefghij"', "x" * 5_000, '"\\377\\376abcdefgh"', "\x01" * 20, "é" * 20):
        client = Client(headers={"Cookie": f"sessionid={value}; csrftoken={CSRF}"})
        answer = client.generic(entry.operation.method.upper(), entry.path)
        entry.refused(answer, 401)
