"""Every number of the records and of the policies equals one computed another way by plain SQL."""

from __future__ import annotations

import html
import random
import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Any
from urllib.parse import unquote

import pytest
from django.contrib.admin import ModelAdmin
from django.db import models

from approvals.policies import changes as policies
from approvals.policies.drafts import Draft
from approvals.rules.terms import Seat, Terms
from tests.support.cast import Cast
from tests.unit.checkpoints.builders import one, rows
from tests.unit.dashboard import populations, scene
from tests.unit.dashboard.kit.pages.test_addresses import patterns

pytestmark = pytest.mark.django_db
# Tables that are nobody's, and those whose rows are a workspace's by another way.
SCOPES = {
    "gp_agent_version": "true",
    "gp_worker": "true",
    "gp_workspace": "id = %(workspace)s",
    "auth_user": "id IN (SELECT user_id FROM gp_membership WHERE workspace_id = %(workspace)s)",
    "gp_hook_identity": "hook_id IN (SELECT id FROM gp_hook WHERE workspace_id = %(workspace)s)",
    "gp_hook_delivery": "hook_id IN (SELECT id FROM gp_hook WHERE workspace_id = %(workspace)s)",
}
NUMBERS = (models.IntegerField, models.DecimalField)
ROWS = 50


def _lists() -> Iterator[tuple[str, ModelAdmin[Any]]]:
    """(address, what lists it) of every list of records."""
    for address, pattern in patterns():
        records = getattr(pattern.callback, "model_admin", None)
        if isinstance(records, ModelAdmin) and str(pattern.name).endswith("_changelist"):
            yield f"/{address}", records


def _text(part: str) -> str:
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", part)).split())


def _numbers_of(records: ModelAdmin[Any], key: str) -> dict[str, Any]:
    """{column: number or None} of the row that a page's address names."""
    meta = records.opts
    columns = [
        field.attname
        for field in meta.concrete_fields
        if isinstance(field, NUMBERS) and not field.is_relation
    ]
    names = getattr(records, "key", (meta.pk.attname,))
    values = unquote(key).replace("_2E", ".").replace("_3A", ":").split(".", len(names) - 1)
    where = " AND ".join(f'"{name}"::text = %s' for name in names)
    if not columns:
        return {}
    chosen = ", ".join(f'"{name}"' for name in columns)
    [row] = rows(f'SELECT {chosen} FROM "{meta.db_table}" WHERE {where}', values)
    return dict(zip(columns, row, strict=True))


def _is(shown: str, value: Any) -> bool:
    return shown == "–" if value is None else Decimal(shown.replace(",", "")) == value


@pytest.mark.slow
def test_every_number_of_the_records(cast: Cast) -> None:
    """Each list: how many rows; each cell and each line of a row's page that is a number."""
    dice = random.Random(3)
    populations.populate(cast, dice)
    populations.requested(cast, dice)
    policies.make(cast.workspace, Draft("pays", "true"), actor="user:9")
    client, wrong, n_compared, n_lists = cast.client("admin"), [], 0, 0
    for address, records in _lists():
        n_lists += 1
        table = records.opts.db_table
        scope = SCOPES.get(table, "workspace_id = %(workspace)s")
        n = one(f'SELECT count(*) FROM "{table}" WHERE {scope}', {"workspace": cast.workspace})
        page = client.get(address).content.decode()
        match = re.search(r"([\d,]+)\s+(?:in total|" + records.opts.verbose_name_plural + ")", page)
        match = match or re.search(rf"([\d,]+)\s+{records.opts.verbose_name}\b", page)
        if (match[1] if match else "0") != f"{n:,}":
            wrong.append(f"{address}: {match and match[1]}, by SQL {n}")
        lines = re.findall(r'<tr role="row">(.*?)</tr>', page.partition("<tbody")[2], re.S)
        if len(lines) != min(n, ROWS):
            wrong.append(f"{address}: {len(lines)} rows, by SQL {n}")
        for line in lines:
            link = re.search(rf'href="{address}([^"]+)/change/', line)
            assert link is not None, line
            payload = _numbers_of(records, link[1])
            cells = re.findall(
                r'<t[hd][^>]*class="field-(\w+)[^"]*"[^>]*>(.*?)</t[hd]>', line, re.S
            )
            for name, cell in cells:
                if name in payload:
                    n_compared += 1
                    if not _is(_text(cell), payload[name]):
                        wrong.append(f"{address} {name}: {_text(cell)}, by SQL {payload[name]}")
        if lines and (link := re.search(rf'href="{address}([^"]+)/change/', lines[0])):
            detail = client.get(f"{address}{link[1]}/change/").content.decode()
            facts = dict(re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", detail, re.S))
            for name, value in _numbers_of(records, link[1]).items():
                if (shown := facts.get(name.replace("_", " "))) is not None:
                    n_compared += 1
                    if not _is(_text(shown), value):
                        wrong.append(f"{address} one row, {name}: {_text(shown)}, by SQL {value}")
    assert not wrong, "\n".join(wrong)
    assert n_lists > 20
    assert n_compared > 300


# Of requests of the author's own gates; what no worker has begun may still happen.
COUNTS = """
SELECT count(*) FILTER (WHERE a.status = 'pending'), count(*) FILTER (WHERE a.status = 'held'),
  count(*) FILTER (WHERE a.status = 'settled' AND a.outcome IN ('approve', 'edit')),
  count(*) + (SELECT count(*) FROM gp_activity x WHERE x.workspace_id = %(workspace)s
    AND x.kind = 'effect' AND x.approval_id IS NULL)
FROM gp_approval a WHERE a.workspace_id = %(workspace)s
"""
POLICY = {"name": "Bills", "condition": "tool == 'publish'", "action": "ask"}
# More people than any request of the population has.
MANY = {"stages": "9 of any reviewer", "undo_window": "0", "valid_for": "24", "on_expiry": "expire"}


@pytest.mark.slow
def test_every_number_of_the_policies(cast: Cast) -> None:
    """Version, people, waiting, caps; how many a draft would have matched and touches."""
    populations.requested(cast, random.Random(4))
    populations.populate(cast, random.Random(4))
    client = cast.client("admin")
    answer = client.post("/admin/policies/add/", POLICY | MANY | {"do": "try"})
    words = _text(answer.content.decode())
    assert answer.status_code == 200, words
    [(n_open, held, settled, past)] = rows(COUNTS, {"workspace": cast.workspace})
    assert f"Would have matched {past} of {past} " in words
    assert f"Touches {n_open + held + settled} requests that have not taken effect" in words
    assert f"{n_open} open, {held} held in the undo window, {settled} approved and not" in words
    made = [
        policies.make(
            cast.workspace,
            Draft(name, "true", terms=Terms(stages=(Seat(count=count),))),
            actor="user:9",
        )
        for name, count in (("pays", 2), ("looks", 3))
    ]
    policies.switch(made[1].policy, False, workspace=cast.workspace, actor="user:9")
    policies.set_cap(
        cast.workspace,
        scope="agent",
        per="day",
        max_cost="1234.5",
        agent="research",
        actor="user:9",
    )
    waits = [scene.waiting(cast.workspace, scene.make_agent()).id for _ in range(3)]
    rows(
        "UPDATE gp_approval SET policy_version = %s WHERE id = ANY(%s::uuid[])",
        (f"{made[0].policy}@1", [str(ident) for ident in waits]),
    )
    page = client.get("/admin/policies/").content.decode()
    for row, count, n in ((made[0], 2, 3), (made[1], 3, 0)):
        item = re.search(rf'id="policy-{row.policy}">(.*?)</li>', page, re.S)
        assert item is not None
        words = _text(item[1])
        number = one(
            "SELECT max(number) FROM gp_policy_version WHERE policy_id = %s", (row.policy,)
        )
        assert f"version {number}" in words
        assert f"Asks {count} of any reviewer." in words
        assert (f"{n} waiting." in words) == bool(n)
    [(cap,)] = rows("SELECT max_cost FROM gp_spend_cap WHERE workspace_id = %s", (cast.workspace,))
    assert f"<dd>{cap:,.2f}</dd>" in page
    url = f"/admin/policies/{made[0].policy}/"
    assert "3 waiting under this policy" in _text(client.get(url).content.decode())
