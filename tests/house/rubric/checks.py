"""The 30 checks of the pages; a test that performs one carries `@pytest.mark.rubric(number)`."""

from __future__ import annotations

from typing import Final

CHECKS: Final = {
    1: "Status counters filter, and equal the total of the list",
    2: "Filter, page, tab and selection are in the URL, for a reload and a second browser",
    3: "Saved and shared views",
    4: "Board with many threads: at most 60 KB of HTML, at most 200 rows",
    5: "A change shows within a second without a reload",
    6: "An update of one row moves no focus, selection or scroll position",
    7: "A lost connection is shown, actions are off, nothing is missed or doubled after it",
    8: "A stuck thread is found and the reason is on screen",
    9: "Every list and dialog works by keyboard; ? lists the keys",
    10: "No shortcut acts while somebody types",
    11: "A thread of 10,000 events is usable at once, newest first, at most 200 rows",
    12: "Branches are drawn as a tree with the fork point",
    13: "Slider and step keys move graph, state and URL together",
    14: "The past is marked, changing actions are off, one click leads to the newest",
    15: "State is compared with the parent and with any checkpoint",
    16: "The event log filters by kind, errors in one action",
    17: "Cost, tokens and time per step and in total",
    18: "Fork: a form and JSON, refused at the field, the diff before it runs",
    19: "Rollback: each effect and its fate beforehand, a reason is required",
    20: "Two branches are compared side by side",
    21: "Statuses differ by shape, word and colour, also for the colour blind",
    22: "axe finds nothing on any page, in both themes, with dialogs open",
    23: "Live regions say at most one message; reduced motion is honoured",
    24: "Dark, light and system theme without a flash",
    25: "A request is decided on a phone without sideways scroll",
    26: "The exact payload and its hash are shown; a changed one is refused",
    27: "Double click, two tabs, two people, late click: one effect and an honest message",
    28: "Approve, edit, answer, reject with a reason; several reviewers; deadline; undo",
    29: "A tampered row turns the badge red and names its place; exports are logged",
    30: "Own JavaScript under 60 KB, no foreign request, strict CSP, readable without scripts",
}
