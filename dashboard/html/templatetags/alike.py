"""Tags of lists that are shown as tables, and of their lines added up by payee."""

from __future__ import annotations

from typing import Any

from django import template
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from dashboard.html.tables.alike import Row, Rows, lists
from dashboard.html.tables.payees import Payee, Payees, payees_of
from dashboard.wording.text import plain, visible

register = template.Library()


@register.simple_tag
def alike_lists(value: Any, receipts: Any = None, order: str = "") -> list[Rows]:
    """The lists of alike rows right inside a value, sorted in this `order` of a column.

    `receipts` are those of this very value.
    """
    return lists(value, () if receipts is None else receipts.values, order)


@register.simple_tag
def payees(args: Any, table: Rows, before: Any = None) -> Payees | None:
    """The lines of a table by payee, beside those `before`; None where they are few or unknown."""
    return payees_of(args, table.name, before)


@register.simple_tag
def payee_rows(some: Payees) -> SafeString:
    """A line for each payee, short: there may be thirty."""
    return format_html_join(
        "\n",
        "<li><b>{}</b><span>{}{}</span><span>{}</span></li>",
        (
            (
                visible(one.name),
                f"{one.lines:,} line{'' if one.lines == 1 else 's'}",
                _accounts(one),
                visible(one.total),
            )
            for one in some.rows
        ),
    )


def _accounts(one: Payee) -> SafeString:
    """Say what a reviewer has to see of a payee: its accounts, and what the last time had."""
    marks = (
        ("t-fail", "other account than last time", one.other_account),
        ("t-wait", f"{one.accounts} accounts", one.accounts > 1),
        ("t-wait", "new", one.is_new),
    )
    shown = format_html_join(
        "",
        ' <span class="st {}">{}</span>',
        ((tone, words) for tone, words, is_so in marks if is_so),
    )
    return format_html(", was {}{}", visible(one.was), shown) if one.was else shown


@register.simple_tag
def table_rows(table: Rows) -> SafeString:
    """The rows of a table without a space between them: of a hundred lines that is much of a page.

    Where rows are blocks on a phone each cell says its column and its role.
    """
    return format_html_join("\n", "{}", ((_row(table, row),) for row in table.rows))


def _row(table: Rows, row: Row) -> SafeString:
    cells = [(c.shown, c.label, ' class="r"' if c.number else "") for c in row.cells]
    if table.marked:
        cells.append((row.mark, "Source", f' class="{row.css}"' if row.css else ""))
    parts = [
        format_html(
            "<td{}{}>{}</td>",
            format_html(' role="cell" data-label="{}"', plain(label)) if table.stacks else "",
            SafeString(css),
            shown,
        )
        for shown, label, css in cells
    ]
    role = SafeString(' role="row"') if table.stacks else ""
    return format_html("<tr{}>{}</tr>", role, SafeString("".join(parts)))
