"""Inputs are drawn by the form module from what an action takes; what a template writes is listed.

A field that an action declares stands in `components/field.html` with its bounds and what was
refused; its label alone is the page's.
"""

from __future__ import annotations

import re
from typing import Final

from tools.size import ROOT

from .test_templates import TEMPLATES, text_of

MODULE: Final = {"components/field.html", "components/field_table.html"}
INPUT: Final = re.compile(r"<(input|textarea|select)\b((?:[^>{]|{%.*?%}|{{.*?}})*)>", re.DOTALL)
# Inputs that a template writes itself, by the reason.
BY_HAND: Final = {
    "narrows or orders what a page lists, or names what it shows": """
        admin/search_form.html: q, approvals/inbox.html: q {{ one.name }},
        board/board.html: q feed,
        board/incidents/list.html: {{ one.name }}, memories/list.html: q outside {{ one.name }},
        board/overview/page.html: from to agent,
        board/views.html: columns density, records/search.html: q,
        records/search_input.html: {{ one.name }}, threads/compare.html: left right,
        records/erase.html: scope
    """,
    "a control of the page that is never sent": """
        admin/search_form.html: #, approvals/inbox.html: #, board/board.html: #,
        approvals/outcome.html: #kept-note, approvals/payload.html: #lines-{{ forloop.counter }},
        threads/page/time.html: #replay-speed, voice/talk.html: words
    """,
    "ticks the rows that are listed": """
        approvals/inbox_row.html: item, approvals/inbox_group_member.html: item,
        board/many.html: thread, threads/code.html: thread
    """,
    "a password, a code or a passkey, which is checked by the sign-in and never shown again": """
        approvals/confirm.html: confirm_code password, approvals/edit.html: confirm_code password,
        people/passkeys.html: password name, people/password.html: password new_password again,
        people/second_factor.html: code password, registration/code.html: code,
        registration/login.html: username password
    """,
    "a box or a choice whose words are the page's own, most of them counted": """
        administration/policy.html: waiting, administration/subscription.html: kinds urgent,
        approvals/decide_dialogs.html: what_next, approvals/decide_many.html: lasting,
        approvals/edit.html: as, approvals/request.html: what_next,
        board/many.html: action channel value then_retry undo to,
        board/release.html: some number percent,
        components/reach.html: children, threads/cancel.html: undo undo_unknown,
        threads/fork.html: effects, threads/rollback.html: known keep_effects run_on,
        threads/skip.html: node, threads/state.html: by
    """,
    "stands in a menu or a row beside the button that sends it": """
        board/incidents/detail.html: hours,
        board/views.html: name shared, records/saved_questions.html: name shared,
        questions/box.html: question agent,
        threads/page/head.html: title, threads/page/stop.html: before_node
    """,
    "the form takes a text or the whole where the call takes differences": """
        approvals/edit.html: args,
        threads/counterfactual.html: output, threads/fork.html: config,
        threads/fork_budget.html: budget_cost budget_tokens budget_steps,
        threads/state.html: whole_state
    """,
    "is kept by a script while a person writes, or sent by the forms of several verdicts": """
        approvals/decide.html: answer comment, approvals/decide_dialogs.html: comment,
        approvals/decide_many.html: comment, approvals/edit.html: comment
    """,
}


def listed() -> set[tuple[str, str]]:
    """(template, name) of each input that is written by hand on purpose."""
    results = set()
    for entries in BY_HAND.values():
        for entry in entries.split(","):
            template, names = entry.split(":", 1)
            # A name can be that of a variable, which holds blanks.
            for name in re.findall(r"{{.*?}}|#lines-{{.*?}}|\S+", names):
                results.add((template.strip(), name))
    return results


def written() -> set[tuple[str, str]]:
    """(template, name) of each input in a template; the id of one that is never sent, after #."""
    results = set()
    for path in TEMPLATES:
        template = str(path.relative_to(ROOT / "templates"))
        for _, attributes in INPUT.findall(text_of(path)):
            if 'type="hidden"' in attributes or template in MODULE:
                continue
            name = re.search(r'\bname="([^"]+)"', attributes)
            ident = re.search(r'\bid="([^"]+)"', attributes)
            results.add((template, name[1] if name else "#" + (ident[1] if ident else "")))
    return results


def test_a_field_that_is_written_by_hand_is_listed_with_the_reason() -> None:
    assert len(written()) > 50
    assert written() == listed()
