"""Every number on a request's page is known, and equals one computed another way by plain SQL."""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest

from approvals.rules.overlap import overlaps
from dashboard.approvals import repeats
from tests.support.cast import Cast
from tests.unit.checkpoints.builders import one, rows
from tests.unit.dashboard import populations, scene
from tests.unit.dashboard.ledger import Request, amount, requests, shown, stacks
from tests.unit.dashboard.page_numbers import Rule, numbers, problem

_TERMS = "SELECT terms ->> 'undo_window' FROM gp_approval WHERE id = %s"


class Shown:
    """One request's page, and what its numbers have to be by the log."""

    def __init__(self, all_of: dict[UUID, Request], request: Request, html: str) -> None:
        self.all, self.request, self.html = all_of, request, html

    @property
    def amount(self) -> str:
        return amount(self.request.args)

    @property
    def head(self) -> str:
        """What the request is about in a few words, as its bar on a phone says it."""
        return self.amount or self.request.title

    @property
    def votes(self) -> str:
        return f"{len(self.request.voters)} of {self.request.needed}"

    @property
    def window(self) -> str:
        return f"{float(one(_TERMS, (self.request.id,))):g}"

    @property
    def hash(self) -> str:
        whole = one(
            "SELECT coalesce(nullif(standing_hash, ''), proposal_hash) FROM gp_approval "
            "WHERE id = %s", (self.request.id,),
        )  # fmt: skip
        return " ".join([*re.findall("....", whole)[:3], "…", whole[-4:]])

    @property
    def receipts(self) -> str:
        """Where the values come from: no call is recorded here, so edits and the agent are left."""
        [(old, new, editor)] = rows(
            "SELECT a.args::text, coalesce(a.standing_args, a.args)::text, (SELECT reviewer_name "
            "FROM gp_decision d WHERE d.approval_id = a.id AND d.verdict = 'edit' "
            "ORDER BY d.at DESC LIMIT 1) FROM gp_approval a WHERE a.id = %s", (self.request.id,),
        )  # fmt: skip
        before, values = _single(json.loads(old)), _single(json.loads(new))
        edited = sum(before.get(path) != value for path, value in values.items())
        values_come = "value comes" if len(values) == 1 else "values come"
        parts = [f"0 of {len(values)} {values_come} from recorded outputs"]
        parts += [f"{edited} from {editor}"] if edited else []
        own = len(values) - edited
        return ", ".join([*parts, *([f"{own} only from the agent"] if own else [])]) + "."

    @property
    def version(self) -> str:
        number = one(
            "SELECT v.version FROM gp_agent_version v JOIN gp_approval a "
            "ON a.agent_version_id = v.id WHERE a.id = %s", (self.request.id,),
        )  # fmt: skip
        return f"version {number} at"

    @property
    def step(self) -> str:
        step = one("SELECT step FROM gp_approval WHERE id = %s", (self.request.id,))
        return f", in step {step}, node"

    @property
    def order(self) -> str:
        """Who has to approve in turn, in words."""
        who = [_seat(stage) for stage in self.request.stages]
        turns = ", then ".join(who)
        return f"have to approve it, in this order: {turns}. One rejection stops it."

    @property
    def left(self) -> str:
        """How many requests of the workspace still wait for a decision."""
        n = sum(one.open and one.id != self.request.id for one in self.all.values())
        return f"{n} request{'' if n == 1 else 's'} left to review"

    def open(self, words: str) -> str:
        """A seat that is still empty: whole stages by their name, else how many more."""
        left, fits = len(self.request.voters), set()
        for stage in self.request.stages:
            value = min(left, stage["count"])
            left -= value
            if value < stage["count"]:
                whole = _seat(stage)[:1].upper() + _seat(stage)[1:]
                fits.add(f"{stage['count'] - value} more" if value else whole)
        return words if words in fits else str(fits)

    def against(self, words: str) -> str:
        """How many values differ from those of the request that the page links to."""
        link = re.search(
            r'Compared with the last one, <a [^>]*href="/approvals/([0-9a-f-]{36})', self.html
        )
        assert link is not None
        return _differ(self.request.args, self.all[UUID(link[1])].args, words)

    def edited(self, words: str) -> str:
        """How many values an edit changed."""
        payload = json.loads(
            one("SELECT args::text FROM gp_approval WHERE id = %s", (self.request.id,))
        )
        changed = re.sub("^Edited: | compared with the agent’s request$", "", words)
        differs = _differ(self.request.args, payload, changed)
        return f"Edited: {differs} compared with the agent’s request"


def _single(value: Any, path: str = "$") -> dict[str, str]:
    """{path: value} of the single values in one, read from JSON."""
    if not isinstance(value, dict | list) or not value:
        return {path: json.dumps(value)}
    pairs = value.items() if isinstance(value, dict) else enumerate(value)
    return {k: v for key, one in pairs for k, v in _single(one, f"{path}/{key}").items()}


def _seat(stage: dict[str, Any]) -> str:
    named = [*stage["people"], *(f"team {team}" for team in stage["teams"])]
    if named:
        return " or ".join(named)
    return "any reviewer" if stage["count"] == 1 else f"{stage['count']} reviewers"


def _differ(new: Any, old: Any, words: str) -> str:
    """The sum of differences in a line; of lists, which are paired by their items, as it is."""
    if "recipients" in new and "recipients" in old:
        return words
    marks = Counter(_marks(new, old))
    parts = [("chg", "~ {} changed"), ("add", "+ {}"), ("del", "− {}")]
    return ", ".join(text.format(marks[mark]) for mark, text in parts if marks[mark])


def _marks(new: dict[str, Any], old: dict[str, Any]) -> list[str]:
    results: list[str] = []
    for name in new.keys() | old.keys():
        if name not in old or name not in new:
            results.append("add" if name in new else "del")
        elif isinstance(new[name], dict):
            results += _marks(new[name], old[name])
        elif new[name] != old[name]:
            results.append("chg")
    return results


# A rule's text is what has to stand there; those that need the words to be read get them.
PAGE = [
    Rule(r"h1#approval-title span\.amount", lambda page, _: page.amount),
    Rule(r"h1#approval-title span\.titled", lambda page, _: page.request.title),
    Rule(r"p\.muted\.asked$", lambda p, words: p.version if "version" in words else p.step),
    Rule(r"#why\S* .*span b$", lambda page, _: f"{page.request.needed} different people"),
    Rule(r"#why\S* .*span$", lambda page, _: page.order),
    Rule(r"#payload\S* h3", Shown.edited),
    Rule(r"p#receipts\S*$", lambda page, _: page.receipts),
    Rule(r"#exactly\S* .*row\.against", Shown.against),
    Rule(
        r"#undo\S* .*li\.t-idle span",
        lambda page, _: (
            f"You can undo your decision for {page.window} seconds; nothing happens before that."
        ),
    ),
    Rule(r"#outcome\S* p\.hint", lambda page, _: page.left),
    Rule(r"#seats\S* div\.row", lambda page, _: page.votes),
    Rule(r"#seats\S* ul\.votes", Shown.open),
    Rule(r"div\.mbar .*span\.muted", lambda page, _: f"{page.votes} approved"),
    Rule(r"div\.mbar .*(b|b\.sm\.clip)$", lambda page, *_: page.head),
    Rule(
        r"#decision\S* p\.hint",
        lambda p, _: f"You’ll have {p.window} s to undo before the agent continues.",
    ),
    Rule(
        r"#approve-dialog\S* .*p\.sm\.muted",
        lambda p, _: f"After this you have {p.window} seconds to undo your decision.",
    ),
    Rule(r"#approve-dialog\S* .*p\.any", lambda page, _: page.request.title),
    Rule(r"#approve-dialog\S* .*dd code", lambda page, _: page.hash),
    Rule(r"#approve-dialog\S* .*dd$", lambda page, _: page.amount),
    Rule(r"#approve-dialog\S* .*button", lambda page, _: f"Approve {page.amount}"),
]  # fmt: skip
# Sentences about who is there to approve have tests of their own, see test_turns.
NOT_COUNTED = re.compile(r"p\.note\.t-fail span$")


@pytest.mark.nightly
@pytest.mark.parametrize("seed", [1, 2])
def test_every_number_of_a_request(cast: Cast, seed: int) -> None:
    populations.piled(cast, random.Random(seed), 35)
    all_of = requests(cast.workspace)
    client = cast.client("manager")
    waiting = stacks([request for request in all_of.values() if request.open], "age")
    in_order = [request for alike in waiting.values() for request in alike]
    wrong: set[str] = set()
    for request in all_of.values():
        html = client.get(f"/approvals/{request.id}/").content.decode()
        page = Shown(all_of, request, html)
        for position, words in numbers(html):
            if "details.exact pre" in position:
                wrong.add("" if json.loads(words) == request.args else f"{position}: {words}")
            elif not NOT_COUNTED.search(position):
                wrong.add(problem(position, words, PAGE, page, words))
        number = re.search(r'id="place">(\d+) of (\d+)', html)
        if request.open:
            assert number is not None
            assert (int(number[1]), int(number[2])) == (in_order.index(request) + 1, len(in_order))
    assert not wrong - {""}, "\n".join(sorted(wrong))


@pytest.mark.parametrize("seed", range(3))
def test_what_a_reject_would_undo_is_what_can_be_undone(cast: Cast, seed: int) -> None:
    dice = random.Random(seed)
    work = scene.lease(scene.start(cast.workspace, scene.make_agent()))
    n, saved = dice.randrange(4), dice.randrange(3)
    for at in range(n + saved):
        scene.effect(work, key=f"publish:{at}", undo="unpublish" if at < n else "")
    row = scene.gate(work)
    page = cast.client("manager").get(f"/approvals/{row.id}/").content.decode()
    html = " ".join(page.split())  # as a browser shows it
    match = re.search(r'id="would-undo">\s*<summary>\s*(.*?)\s*</summary>', html)
    undoable, stays = (
        rows(
            "SELECT count(*) FROM gp_activity WHERE thread_id = %s AND kind = 'effect' "
            f"AND state = 'done' AND undo {sign} ''", (work.thread,),
        )[0][0]
        for sign in ("<>", "=")
    )  # fmt: skip
    words = f"{undoable} effect{'' if undoable == 1 else 's'}"
    if stays:
        words += f"; {stays} stay{'s' if stays == 1 else ''} done"
    assert (match[1] if match else "") == (f"What that would undo: {words}" if n + saved else "")


@pytest.mark.parametrize("seed", range(30))
def test_what_goes_out_again_is_summed_by_currency(seed: int) -> None:
    """Lines that were done before beside those of now: counts and sums, each currency by itself."""
    dice = random.Random(seed)
    currencies = dice.choice([[""], ["EUR"], ["EUR", "USD", ""]])

    def line(n: int) -> dict[str, Any]:
        return {"id": f"RE-{n}", "amount": dice.choice(populations.AMOUNTS)} | (
            {"currency": currency} if (currency := dice.choice(currencies)) else {}
        )

    common = dice.choice(["", "EUR"])
    before = {"payments": [line(n) for n in range(1, 9)]}
    now: dict[str, Any] = {"payments": [line(n) for n in range(dice.randrange(1, 9), 12)]}
    if common:
        now["currency"] = common
    [overlap] = overlaps(before, now)
    result = repeats._listed(overlap, now)
    done = {one["id"] for one in before["payments"]}
    again = [one for one in now["payments"] if one["id"] in done]
    new = [one for one in now["payments"] if one["id"] not in done]
    assert (result.again, result.new, result.total) == (len(again), len(new), len(again) + len(new))
    assert (result.twice, result.once) == (_sums(again, common), _sums(new, common))
    assert len(result.rows) == len(done | {one["id"] for one in now["payments"]})


def _sums(lines: list[dict[str, Any]], common: str) -> str:
    by_currency: dict[str, Decimal] = {}
    for one_line in lines:
        currency = one_line.get("currency", common)
        by_currency[currency] = by_currency.get(currency, Decimal(0)) + Decimal(one_line["amount"])
    return " + ".join(shown(number, currency) for currency, number in by_currency.items())
