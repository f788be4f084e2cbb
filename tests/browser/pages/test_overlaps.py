"""No text lies over another text, wide and on a phone, also where texts are longer than usual."""

from __future__ import annotations

import json
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe

from checkpoints import queries
from dashboard.threads.fork import fork as fork_thread
from tests.browser.conftest import People
from tests.browser.house import House
from tests.browser.screens import PHONE, WIDE, Screen
from tests.faults.bench import Case

from .test_accessible import OTHERS, THEMES, wrong
from .test_entries import forms, pages

pytestmark = [pytest.mark.browser, pytest.mark.nightly]
MORE = {
    "compare": "/threads/compare/",
    "many": "/threads/many/",
    "incidents": "/incidents/",
    "deputies": "/deputies/",
    "API docs": "/api/docs/",
}

# Pairs of texts that meet on the screen: what their boxes clip does not count, nor bars that stay
# in place while the page moves behind them. `longer`: names and values, three times as long.
OVERLAPS = """(longer) => {
  const main = document.querySelector('main') || document.body;
  document.querySelectorAll('main details').forEach(one => { one.open = true; });
  const UNSEEN = 'svg, script, style, noscript, textarea, select, .sr';
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const nodes = [];
  while (walker.nextNode()) if (walker.currentNode.data.trim()) nodes.push(walker.currentNode);
  if (longer) for (const node of nodes) {
    const el = node.parentElement;
    if (main.contains(el) && el.closest('.any, .clip, .clip2, dd, td, .m, .tag')
        && !el.closest('svg, script, style, textarea, option, button, .btn, kbd'))
      node.data = node.data.trim() + ' ' + node.data.trim() + node.data.trim();
  }
  const cut = (box, by) => ({left: Math.max(box.left, by.left), top: Math.max(box.top, by.top),
    right: Math.min(box.right, by.right), bottom: Math.min(box.bottom, by.bottom)});
  const seen = el => el.checkVisibility({opacityProperty: true, visibilityProperty: true});
  const texts = [];
  for (const node of nodes) {
    const el = node.parentElement;
    if (!el || !seen(el) || el.closest(UNSEEN)) continue;
    let floats = false, limits = [];
    for (let up = el; up && up !== document.documentElement; up = up.parentElement) {
      const style = getComputedStyle(up);
      if (['fixed', 'sticky'].includes(style.position) || up.popover) floats = true;
      if (style.position === 'absolute' && +style.zIndex > 1) floats = true;
      if (style.overflowX !== 'visible' || style.overflowY !== 'visible')
        limits.push(up.getBoundingClientRect());
    }
    if (floats) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    for (const rect of range.getClientRects()) {
      const box = limits.reduce(cut, rect);
      // Of a line the letters alone: without the space above and below them.
      const high = (box.bottom - box.top) * 0.2;
      if (box.right - box.left > 3 && box.bottom - box.top > 6)
        texts.push({left: box.left, right: box.right, node,
          top: box.top + high, bottom: box.bottom - high});
    }
  }
  texts.sort((a, b) => a.top - b.top);
  const found = [];
  for (let i = 0; i < texts.length && found.length < 8; i++)
    for (let j = i + 1; j < texts.length && texts[j].top < texts[i].bottom; j++) {
      const [a, b] = [texts[i], texts[j]];
      const wide = Math.min(a.right, b.right) - Math.max(a.left, b.left);
      const high = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
      if (a.node !== b.node && wide > 2 && high > 2)
        found.push(`${a.node.data.trim().slice(0, 40)} / ${b.node.data.trim().slice(0, 40)}`);
    }
  return found;
}"""

# What a finger presses and is less than 24 px high; a link in a sentence is as high as its line.
SMALL = """() => [...document.querySelectorAll('a[href], button, summary, select')].filter(el => {
  if (!el.checkVisibility({opacityProperty: true, visibilityProperty: true})) return false;
  const {width, height} = el.getBoundingClientRect();
  if (width < 2 || height < 2 || height >= 23.5 || el.closest('svg, .sr')) return false;
  const line = el.closest('p, li, dd, td, div, span:not(.any)') || el.parentElement;
  return line.innerText.trim().length < el.innerText.trim().length + 3;
}).map(el => `${el.innerText.trim().slice(0, 40)} ${el.offsetHeight}`).slice(0, 8)"""


def overlaps(screen: Screen) -> dict[str, Any]:
    """{"width, how long": pairs of texts that meet} of the page that is open."""
    results = {}
    for width, height in (WIDE, PHONE):
        screen.page.set_viewport_size({"width": width, "height": height})
        for longer in (False, True):
            if pairs := screen.page.evaluate(OVERLAPS, longer):
                results[f"{width} {'longer' if longer else 'as it is'}"] = pairs
        screen.page.reload()
    return results


def test_no_text_lies_over_another(house: House, people: People, at_gate: Case) -> None:
    screen, met = people("operator"), {}
    for name, path in (pages(at_gate) | forms(at_gate) | OTHERS | MORE).items():
        if name == "login":
            continue
        screen.open(path)
        if pairs := overlaps(screen):
            met[name] = pairs
    assert met == {}, json.dumps(met, indent=1)


def test_what_stands_alone_is_high_enough_for_a_finger(
    house: House, people: People, at_gate: Case
) -> None:
    screen, too_small = people("operator", phone=True), {}
    for name, path in (pages(at_gate) | forms(at_gate) | OTHERS | MORE).items():
        if name in ("login", "API docs"):
            continue
        screen.open(path)
        if small := screen.page.evaluate(SMALL):
            too_small[name] = small
    assert too_small == {}, json.dumps(too_small, indent=1)


@pytest.mark.rubric(22)
def test_links_of_the_damage_banner_are_more_than_coloured(
    house: House, people: People, at_gate: Case
) -> None:
    screen = people("auditor")
    screen.open("/")
    screen.page.evaluate(
        """() => document.querySelector('main').insertAdjacentHTML('afterbegin',
        `<div class="note t-fail" role="alert"><div class="grow"><b>1 record damaged</b>, found now.
        <span class="any"><a class="link in" href="/">Weather</a>: event 3 was altered</span></div>
        </div>`)"""
    )
    assert wrong(screen, Axe(), THEMES["light"]) == []
    assert wrong(screen, Axe(), THEMES["dark"]) == []


def test_a_fork_beside_its_base_fits_three_screens(house: House, people: People) -> None:
    """Inputs, values and the verdict come first; states are short and the log is folded."""
    question = "How does the temperature differ between the airports?"
    base = house.start(title="Weather", question=question, dataset="weather")
    base.wait_status("waiting", seconds=60)
    point = queries.checkpoint_by_number(base.id, 1)
    changes = {"measure": "humid"}
    fork = house.case(fork_thread(house.cast.actor("manager"), base.id, point.id, changes))
    fork.wait_status("waiting", seconds=60)
    screen = people("manager")
    screen.open(f"/threads/compare/?left={base.id}&right={fork.id}")
    height = screen.page.evaluate("document.documentElement.scrollHeight")
    assert height <= 2_500
    assert screen.one("#summary-title").inner_text() == "1 input differs"
    assert overlaps(screen) == {}
