"""What the OpenAPI document says of the inbound call is what it answers."""

from __future__ import annotations

import json
from typing import Any
from uuid import UUID, uuid4

import jsonschema
import pytest

from approvals.hooks.deliveries import BODY_MAX
from approvals.queries import ApprovalRow
from dashboard.approvals import deliveries
from tests.support.cast import Cast
from tests.unit.dashboard import scene
from tests.unit.dashboard.administration.hooks.helpers import CLIENT
from tests.unit.dashboard.hooking import PATH, send, verdict

pytestmark = pytest.mark.requirement("C35")


def schema_of(cast: Cast) -> Any:
    return json.loads(cast.client("operator").get("/api/schema/?format=json").content)


def test_the_document_describes_the_call_and_its_signature(cast: Cast) -> None:
    payload = schema_of(cast)
    call = payload["paths"][PATH]["post"]
    assert call["operationId"] == "hooks_decide"
    assert call["security"] == [{"webhookSignature": []}]
    scheme = payload["components"]["securitySchemes"]["webhookSignature"]
    assert (scheme["in"], scheme["name"]) == ("header", "webhook-signature")
    needed = {(one["in"], one["name"]) for one in call["parameters"] if one["required"]}
    assert needed == {("query", "hook"), *(("header", name) for name in deliveries.NAMES)}
    body = payload["components"]["schemas"]["Carried"]
    assert set(body["required"]) == {"approval", "verdict", "proposal_hash", "by"}
    assert set(body["properties"]) == set(deliveries.Carried.model_fields)
    # It is the only call that no person makes.
    signed_ones = [
        path
        for path, item in payload["paths"].items()
        for one in item.values()
        if one["security"] == call["security"]
    ]
    assert signed_ones == [PATH]


def test_what_it_answers_is_what_the_document_says(
    cast: Cast, row: ApprovalRow, hook: tuple[UUID, str]
) -> None:
    """One answer of each kind: its status is described, its body has the described form."""
    payload = schema_of(cast)
    described = payload["paths"][PATH]["post"]["responses"]
    ident, secret = hook
    body = json.dumps(verdict(row)).encode()
    sent = [
        send(CLIENT, ident, b"{", secret=secret),  # 400
        send(CLIENT, ident, body, secret="whsec_" + "A" * 43 + "="),  # 401
        send(CLIENT, ident, verdict(row, by="U9"), secret=secret),  # 403
        send(CLIENT, uuid4(), body, secret=secret),  # 404
        send(CLIENT, ident, b" " * (BODY_MAX + 1), secret=secret),  # 413
        send(CLIENT, ident, verdict(row, verdict="perhaps"), secret=secret),  # 422
        send(CLIENT, ident, body, secret=secret, ident="msg_1"),  # 200
        send(CLIENT, ident, body, secret=secret, ident="msg_2"),  # 409
    ]
    codes = [answer.status_code for answer in sent]
    assert codes == [400, 401, 403, 404, 413, 422, 200, 409]
    again = send(CLIENT, ident, body, secret=secret, ident="msg_2")
    assert "Webhook-Replayed" in again
    assert "Webhook-Replayed" in described["409"]["headers"]
    for answer in [*sent, again]:
        content = described[str(answer.status_code)]["content"]
        shape = content[answer["Content-Type"].partition(";")[0]]["schema"]
        jsonschema.validate(answer.json(), {**shape, "components": payload["components"]})
    # No answer is described that it cannot give: any content type is read.
    assert "415" not in described


@pytest.mark.slow
def test_the_document_names_the_verdicts_of_an_interrupt(cast: Cast) -> None:
    schemas = schema_of(cast)["components"]["schemas"]
    for name, member in (
        ("Approval", "schema"),
        ("ApprovalDetail", "schema"),
        ("ApprovalDetail", "arguments_schema"),
    ):
        result = schemas[name]["properties"][member]["properties"]["x-verdicts"]
        assert result["items"]["enum"] == ["approve", "edit", "respond", "reject"]
    # And that is what an interrupt's request carries.
    schema = {"type": "object", "properties": {}, "x-verdicts": ["approve", "respond"]}
    request = scene.waiting(cast.workspace, scene.make_agent(), schema=schema)
    one = cast.client("manager").get(f"/api/v1/approvals/{request.id}/").json()
    assert one["schema"] == one["arguments_schema"] == schema
    assert one["verdicts"] == ["approve", "respond", "reject"]
    jsonschema.validate(one["schema"], schemas["Approval"]["properties"]["schema"])
