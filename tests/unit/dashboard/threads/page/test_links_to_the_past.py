"""Whatever link leads to a past checkpoint shows that checkpoint; one function writes them all."""

from __future__ import annotations

import re
from html import unescape
from urllib.parse import parse_qs, urlsplit
from uuid import UUID

import pytest
from django.urls import reverse

from checkpoints import queries, store
from tests.support.cast import Cast
from tests.unit.workers.conftest import Bench

pytestmark = [pytest.mark.nightly, pytest.mark.django_db]
ROW = r"/admin/checkpoints/(checkpoint|thread)/[^/]+/change/"


def links(text: str) -> set[str]:
    return {unescape(item) for item in re.findall(r'href="([^"]+)"', text)}


def test_every_link_to_a_checkpoint_shows_that_checkpoint(
    lived: tuple[Bench, UUID], cast: Cast
) -> None:
    bench, thread = lived
    fork = bench.fork(thread, 2, {})
    store.grant(bench.workspace, cast.users["nobody"].pk, "auditor", actor="user:0")
    auditor = cast.client("nobody")
    pages = [reverse("thread", args=[one]) for one in (thread, fork)]
    for model in ("thread", "checkpoint", "event", "activity"):
        pages.append(reverse(f"admin:checkpoints_{model}_changelist"))
    linked = 0
    seen: set[str] = set()
    while pages:
        page = pages.pop()
        answer = auditor.get(page)
        assert answer.status_code == 200, page
        for link in links(answer.content.decode()):
            parts = urlsplit(link)
            path = parts.path or urlsplit(page).path
            if re.fullmatch(ROW, path) and path not in seen:
                seen.add(path)
                pages.append(path)
            if not re.fullmatch(r"/threads/[0-9a-f-]{36}/", path) or not parts.query:
                continue
            query = parse_qs(parts.query)
            assert set(query) <= {"cp", "event", "kind", "tab", "before", "points_before"}, link
            if {"before", "points_before"} & set(query) and f"{path}?{parts.query}" not in seen:
                seen.add(f"{path}?{parts.query}")
                pages.append(f"{path}?{parts.query}")
                continue
            if "cp" not in query:
                continue
            linked += 1
            if (address := f"{path}?{parts.query}") in seen:
                continue
            seen.add(address)
            owner, wanted = UUID(path.split("/")[2]), query["cp"][0]
            row = (
                queries.checkpoint_by_number(owner, int(wanted))
                if wanted.isdecimal()
                else queries.checkpoint(owner, UUID(wanted))
            )
            shown = auditor.get(address).content.decode()
            head = queries.thread(owner, workspace=bench.workspace).head
            expected = [] if row.id == head else [str(row.id)]
            assert re.findall(r'data-past="([^"]+)"', shown) == expected, address
    assert linked >= 20
    assert sum("?cp=" in address for address in seen) >= 14
