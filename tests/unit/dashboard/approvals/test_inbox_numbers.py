"""Every number of the inbox and of the dialog for several requests, computed another way by SQL."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from datetime import datetime
from html import unescape
from uuid import UUID

import pytest
from django.template.loader import render_to_string
from django.test import Client

from approvals.inbox import boxes as inbox
from tests.support.cast import Cast
from tests.unit.checkpoints.builders import one, rows
from tests.unit.dashboard import populations
from tests.unit.dashboard.ledger import Request, Voter, amount, money, requests, stacks, total
from tests.unit.dashboard.page_numbers import Rule, numbers, problem

NOW = "SELECT clock_timestamp()"
SUMMARY = r'<li id="alike-of-(\S{36})".*?<summary(.*?)</summary>'
STACK = r"li#alike-of-(\S{36})\S* details summary\S* .*"


NUMBER = re.compile(r"\d")
ROW = "div.body.stack ol.result-list li.result-row"


def _voter(cast: Cast, name: str) -> Voter:
    teams = rows(
        "SELECT g.name FROM auth_group g JOIN auth_user_groups m ON m.group_id = g.id "
        "WHERE m.user_id = %s",
        (cast.users[name].pk,),
    )
    return Voter(f"user:{cast.users[name].pk}", name, tuple(team for (team,) in teams))


def _boxes(all_of: dict[UUID, Request], who: Voter) -> dict[str, list[Request]]:
    """The requests in each box of a person; of those that are done there is no count."""
    waiting = [request for request in all_of.values() if request.open]
    now: datetime = one(NOW)
    return {
        "mine": [r for r in waiting if r.asks(who)],
        "team": [r for r in waiting if who.teams and r.seats(who, teams_only=True)],
        "due": [r for r in waiting if r.due and (r.due - now).total_seconds() < 3_600],
        "high": [r for r in waiting if r.risk == "high"],
        "open": waiting,
    }


class Look:
    """What a list has to show by the log."""

    def __init__(self, all_of: dict[UUID, Request], listed: list[Request], sort: str) -> None:
        self.all = {str(ident): request for ident, request in all_of.items()}
        self.stacks = stacks(listed, sort)

    def count(self, first: str) -> int:
        return len(self.stacks[first])

    def title(self, ident: str) -> str:
        return self.all[ident].title

    def common(self, first: str) -> str:
        """The title of all of a stack; an ellipsis where their numbers differ."""
        titles = {request.title for request in self.stacks[first]}
        return titles.pop() if len(titles) == 1 else "Pay invoice …"

    def votes(self, ident: str) -> str:
        return f"{len(self.all[ident].voters)} of {self.all[ident].needed}"


LIST = [
    Rule(r"li#approval-(\S{36})\S* .*span\.ti.* span\.muted", Look.votes),
    Rule(r"li#approval-(\S{36})\S* .*span\.clip span\.num", Look.votes),
    Rule(r"li#approval-(\S{36})\S* .*b\.ti", Look.title),
    Rule(r"li#approval-(\S{36})\S* .*span\.am", lambda look, i: amount(look.all[i].args)),
    Rule(r"li#approval-(\S{36})\S* label", lambda look, i: f"Tick {look.title(i)}"),
    Rule(STACK + r"span\.times", lambda look, i: f"{look.count(i)}×"),
    Rule(STACK + r"b\.ti", Look.common),
    Rule(STACK + r"span\.am\.num\.strong", lambda look, i: total(look.stacks[i])[0]),
    Rule(STACK + r"span\.num\.range", lambda look, i: total(look.stacks[i])[1]),
    Rule(STACK + r"span\.fold", lambda look, i: f"{look.count(i)} similar"),
    Rule(r"li#alike-of-(\S{36})\S* label", lambda k, i: f"Tick all {k.count(i)}: {k.common(i)}"),
]


def _line(look: Look, position: str, words: str) -> str:
    """What is wrong with the line that tells a request from others: it quotes the request."""
    request = look.all[re.search(r"li#approval-(\S{36})", position)[1]]  # type: ignore[index]
    return "" if _quotes(words, request) else f"{position}: {words!r}"


def _quotes(words: str, request: Request) -> bool:
    """Whether each number in these words is one of a request."""
    known = re.findall(r"\d+", f"{request.title} {request.args}")
    return set(re.findall(r"\d+", words)) <= set(known)


def _pages(client: Client, query: str) -> Iterator[str]:
    while True:
        html = client.get(f"/approvals/?{query}").content.decode()
        yield html
        following = re.search(r'class="more" href="\?([^"]+)" rel="next"', html)
        if following is None:
            return
        query = unescape(following[1])


def _times(html: str) -> dict[str, list[str]]:
    """{id of the first of a stack: its times}, as the summary shows them."""
    results = {}
    for first, summary in re.findall(SUMMARY, html, re.S):
        results[first] = re.findall(r'datetime="([^"]+)"', summary)
    return results


def _unopened(all_of: dict[UUID, Request], who: Voter) -> str:
    """What a person is told who opens nothing: how many approvals of theirs needed opening."""
    counted = [r.approvals.count(who.id) for r in all_of.values() if r.alone]
    what = "approvals of requests that need opening came without opening them."
    return f"Your last {sum(counted)} {what}"


def _wrong(look: Look, html: str, boxes: dict[str, list[Request]], who: Voter) -> Iterator[str]:
    """What is wrong with the numbers of a page of the inbox."""
    for position, words in numbers(html):
        if "div#habit" in position:
            wanted = _unopened({UUID(i): r for i, r in look.all.items()}, who)
            yield "" if words == wanted else f"{words!r}, by SQL {wanted!r}"
        elif box := re.search(r"nav#inbox-boxes\S* a#box-(\w+)", position):
            wanted = str(len(boxes[box[1]]))
            yield "" if words == wanted else f"{position}: {words!r}, by SQL {wanted!r}"
        elif re.search(r"li#approval-.* span\.clip$", position):
            yield _line(look, position, words)
        else:
            yield problem(position, words, LIST, look)
    for first, times in _times(html).items():
        stack = look.stacks[first]
        due = [request.due for request in stack if request.due]
        wanted_times = [min(due)] if due else []
        wanted_times.append(min(request.requested_at for request in stack))
        wanted_times = [at.replace(microsecond=0) for at in wanted_times]
        shown = [datetime.fromisoformat(text) for text in times]
        yield "" if shown == wanted_times else f"{first}: {shown}, by SQL {wanted_times}"


def _badge(html: str) -> str:
    """The number at the link to the inbox, on every page."""
    shown = re.search(r'id="nav-approvals".*?class="count">(.*?)<', html, re.S)
    return shown[1] if shown else ""


@pytest.mark.nightly
@pytest.mark.parametrize("seed", [1, 2])
def test_every_number_of_the_inbox(cast: Cast, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    dice = random.Random(seed)
    populations.piled(cast, dice)
    all_of = requests(cast.workspace)
    assert {request.status for request in all_of.values()} >= {"pending", "held", "expired"}
    for name in ("manager", "second_manager", "auditor"):
        client, who = cast.client(name), _voter(cast, name)
        boxes = _boxes(all_of, who)
        listed = boxes | {"done": [r for r in all_of.values() if not r.open]}
        for box in inbox.BOXES if name != "auditor" else ("open", "done"):
            sort = dice.choice(inbox.SORTS)
            look = Look(all_of, listed[box], sort)
            wrong: set[str] = set()
            shown: set[str] = set()
            for html in _pages(client, f"box={box}&sort={sort}"):
                wrong |= set(_wrong(look, html, boxes, who))
                shown |= set(re.findall(r'id="approval-(\S{36})"', html))
                assert _badge(html) == str(len(boxes["open"]))
            assert not wrong - {""}, f"{name}, {box}, {sort}: " + "\n".join(wrong)
            assert shown == {str(request.id) for request in listed[box]}
    _together(cast, all_of, dice)
    _at_the_limits(cast, boxes["open"], monkeypatch)


def _at_the_limits(cast: Cast, waiting: list[Request], monkeypatch: pytest.MonkeyPatch) -> None:
    """What is counted up to a limit shows a plus where there is more, and no sum over a part."""
    client = cast.client("auditor")
    for cap, words in (
        (len(waiting), f"{len(waiting)}"),
        (len(waiting) - 1, f"{len(waiting) - 1}+"),
    ):
        monkeypatch.setattr(inbox, "COUNTED", cap)
        html = client.get("/approvals/?sort=age").content.decode()
        assert f'data-count="open">{words}</b>' in html
    monkeypatch.setattr(inbox, "WINDOW", 20)
    window = sorted(waiting, key=lambda request: (request.requested_at, request.id))[:20]
    html = client.get("/approvals/?sort=age").content.decode()
    for first, alike in Look({r.id: r for r in waiting}, window, "age").stacks.items():
        if len(alike) > 1:
            assert re.search(rf'<span\s+class="times num">{len(alike)}\+×</span>', html)
            summary = html.partition(f'id="alike-{first}"')[2].partition("</summary>")[0]
            assert re.search(r'<span\s+class="am num strong nowrap"></span>', summary)
            assert "range" not in summary


def test_the_number_at_the_link_to_the_inbox_says_where_it_ends() -> None:
    for n, words in ((0, ""), (1, "1"), (1_000, "1,000"), (1_001, "1,000+")):
        html = render_to_string("base.html#nav-approvals", {"open_approvals": n})
        assert _badge(html) == words


def _together(cast: Cast, all_of: dict[UUID, Request], dice: random.Random) -> None:
    """The dialog for several ticked requests says how many, and what they come to."""
    hashes = dict(
        rows("SELECT id, coalesce(nullif(standing_hash, ''), proposal_hash) FROM gp_approval")
    )
    who, client = _voter(cast, "manager"), cast.client("manager")
    for n in (1, 2, 5, 30, len(all_of)):
        ticked = dice.sample([*all_of.values()], n)
        good = [request for request in ticked if request.together(who)]
        named = [request for request in good if money(request.args)]
        many = "this request" if len(good) == 1 else f"these {len(good)} requests"
        whole = total(named)[0]
        items = [f"{request.id}:{hashes[request.id]}" for request in ticked]
        many += (
            f", {whole} in {'all' if named == good else f'{len(named)} of them'}" if whole else ""
        )
        button = f"Approve{f' {len(good)}' if len(good) > 1 else ''}"
        left_out = [r.title for r in ticked if r not in good]
        wanted = {
            "header h1": [f"Approve {many}?" if good else ""],
            "div.body.stack div.note.t-stuck div.grow b": [f"{n - len(good)} left out."],
            "div.body.stack div.note.t-stuck div.grow p.sm a.link.in": left_out,
            f"{ROW} div.right b.num": [amount(request.args) for request in good],
            f"{ROW} div.right p code.muted.xs.hash-shown": [
                " ".join([*re.findall("....", hashes[r.id])[:3], "…", hashes[r.id][-4:]])
                for r in good
            ],
            "footer button.btn.primary": [f"{button} · {whole}" if named == good else button],
        }
        html = client.post("/approvals/decide/", {"verdict": "approve", "item": items})
        shown: dict[str, list[str]] = {}
        for position, words in numbers(html.content.decode()):
            shown.setdefault(position.split(" ", 3)[-1], []).append(words)
        for line in shown.pop(f"{ROW} div.any.grow p.any", []):
            assert any(_quotes(line, request) for request in good), line
        for position, texts in wanted.items():
            assert shown.pop(position, []) == [text for text in texts if NUMBER.search(text)]
        assert shown == {}
