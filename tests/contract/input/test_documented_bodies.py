"""Media types, forms and sizes of bodies: what the document states is what the server takes.

Generated from the document for each call with a body; forms of uploads from parts of all kinds.
"""

from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import Any

import pytest
from django.test import Client

from checkpoints.models import Artifact
from dashboard.kit.api.openapi import MAX_BYTES
from tests.contract.calls import address, example
from tests.contract.operations import document, operations
from tests.contract.world import World
from tests.contract.written import taken_back
from tests.support.cast import Cast

from .test_uploads import END, URL, part

JSON = sorted(one.id for one in operations().values() if one.body_type == "application/json")
FORM = "multipart/form-data; boundary=b"
KINDS = (
    "",
    "*/*",
    "application",
    "application/*",
    "*/json",
    "application/json",
    "application/jsonp",
    "application/vnd.api+json",
    "application/x-www-form-urlencoded",
    "application/octet-stream",
    FORM,
    "multipart/mixed; boundary=b",
    "text/plain",
    "text/json; charset=utf-8",
    "x" * 300 + "/json",
)
HOOK = "/api/v1/hooks/decide/?hook=00000000-0000-7000-8000-000000000000"


def content_of(spec: dict[str, Any]) -> dict[str, Any]:
    """What the document says of a call's body, by media type."""
    result: dict[str, Any] = spec["requestBody"]["content"]
    return result


class Sender:
    """The person of a call's good example, whose changes are taken back."""

    def __init__(self, world: World, name: str) -> None:
        self.call = example(world, operations()[name])
        self.path = address(operations()[name], self.call)
        self.client: Client = world.cast.client(self.call.who[0])

    def send(self, raw: bytes, kind: str) -> Any:
        with taken_back():
            return self.client.generic(
                "POST", self.path, raw, content_type=kind, headers=self.call.headers
            )


@pytest.mark.slow
@pytest.mark.parametrize("name", [*JSON, "artifacts_upload"])
def test_no_other_media_type_is_taken(world: World, name: str) -> None:
    stated, sender = content_of(operations()[name].spec), Sender(world, name)
    raw = json.dumps(sender.call.body).encode() if sender.call.body is not None else b"1,2"
    refused = 0
    for kind in KINDS:
        if kind.partition(";")[0] in stated:
            continue
        answer = sender.send(raw, kind)
        assert (answer.status_code, answer["Content-Type"]) == (415, "application/problem+json"), (
            kind,
            answer.content[:300],
        )
        refused += 1
    assert refused == len([kind for kind in KINDS if kind.partition(";")[0] not in stated])
    assert len(KINDS) - refused == 1


@pytest.mark.nightly
@pytest.mark.parametrize("name", JSON)
def test_bodies_up_to_their_size_are_taken(world: World, name: str) -> None:
    kind, sender = "application/json", Sender(world, name)
    media = content_of(operations()[name].spec)[kind]
    raw = json.dumps(sender.call.body).encode()
    for n_bytes, status in ((media[MAX_BYTES], sender.call.status), (media[MAX_BYTES] + 1, 413)):
        answer = sender.send(raw.ljust(n_bytes), kind)
        assert answer.status_code == status, (n_bytes, answer.content[:300])
    assert answer.json()["path"] == "$"


def test_a_delivery_may_have_the_size_and_the_type_that_are_stated(cast: Cast) -> None:
    stated = content_of(document()["paths"]["/api/v1/hooks/decide/"]["post"])
    assert set(stated) == {"application/json", "*/*"}
    for kind in ("application/json", "text/plain"):
        n_bytes = stated["*/*"][MAX_BYTES]
        for size, status in ((n_bytes, 404), (n_bytes + 1, 413)):  # there is no such hook
            answer = Client().generic("POST", HOOK, b"x" * size, content_type=kind)
            assert answer.status_code == status, (kind, size, answer.content[:300])


# --- forms of uploads -------------------------------------------------------------------------

LARGEST = 1_000


@dataclass(frozen=True)
class Part:
    """One part of a form."""

    name: str
    size: int
    is_file: bool = True

    def written(self) -> bytes:
        return part(self.name, b"x" * self.size, filename="a.csv" if self.is_file else None)


PARTS = (
    Part("file", 0),
    Part("file", 7),
    Part("file", LARGEST),
    Part("file", LARGEST + 1),
    Part("file", 7, is_file=False),
    Part("File", 7),
    Part("other", 7),
    Part("other", 7, is_file=False),
    Part("csrfmiddlewaretoken", 32, is_file=False),
)


def forms() -> Iterator[tuple[Part, ...]]:
    """Every form of up to two parts, and some of more."""
    for n in range(3):
        yield from itertools.product(PARTS, repeat=n)
    chance = Random(7)  # the same in every run
    yield from (tuple(chance.choices(PARTS, k=chance.randint(3, 5))) for _ in range(40))


def faults(schema: dict[str, Any], form: tuple[Part, ...]) -> set[str]:
    """Which words of the schema a form does not keep."""
    known, counts = schema["properties"], Counter(one.name for one in form)
    result = {"required" for name in schema["required"] if name not in counts}
    result |= {"additionalProperties" for name in counts if name not in known}
    for one in form:
        if one.name in known:
            words = known[one.name]
            assert (words["type"], words["format"]) == ("string", "binary")
            result |= {"type"} if counts[one.name] > 1 or not one.is_file else set()
            result |= {"maxLength"} if one.size > words["maxLength"] else set()
    return result


@pytest.fixture
def upload(settings: Any) -> dict[str, Any]:
    """What a document made under a small limit says of the upload's form."""
    settings.GATEPOST_UPLOAD_MAX_BYTES = LARGEST
    fresh = document.__wrapped__()["paths"][URL]["post"]
    assert fresh["requestBody"]["required"] is True
    (media,) = content_of(fresh).values()
    return dict(media)


@pytest.mark.slow
def test_forms_are_taken_as_their_schema_says(upload: dict[str, Any], cast: Cast) -> None:
    client, schema, seen = cast.client("operator"), upload["schema"], Counter[int]()
    assert schema["additionalProperties"] is False
    for form in forms():
        raw = b"".join(one.written() for one in form) + END
        with taken_back():
            answer = client.generic("POST", URL, raw, content_type=FORM)
            n_files = Artifact.objects.count()
        wrong = faults(schema, form)
        allowed = {201} if not wrong else {413} if wrong == {"maxLength"} else {413, 422}
        assert answer.status_code in allowed, (form, wrong, answer.content[:300])
        assert n_files == (0 if wrong else 1), form
        if wrong == {"maxLength"}:
            assert answer.json()["path"] == "$.file"
        seen[answer.status_code] += 1
    assert seen[201] == 3
    assert seen[413] >= 1
    assert seen[422] > 60


def test_a_form_has_room_for_its_largest_file(upload: dict[str, Any], cast: Cast) -> None:
    client = cast.client("operator")
    whole = part("file", b"x" * LARGEST, filename="n" * 250 + ".csv") + END
    for raw, status in ((whole, 201), (whole.ljust(upload[MAX_BYTES] + 1), 413)):
        answer = client.generic("POST", URL, raw, content_type=FORM)
        assert answer.status_code == status, (len(raw), answer.content[:300])
