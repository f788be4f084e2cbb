"""The many small elements of the overview: bars of a drawing, rows of a table.

Made here and not in templates, where some thousand of them take half of the page's time.
"""

from __future__ import annotations

from django import template
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe

from dashboard.board.overview.figure import Figure
from dashboard.html.charts.over_time import TimePlot
from dashboard.wording.text import plain, visible

register = template.Library()


@register.simple_tag
def plot_columns(plot: TimePlot) -> SafeString:
    """A group for each hour or day: what it says when pointed at, its bars, and where it leads.

    The links have no stop of the keyboard of their own: the table below has the same ones.
    """
    parts: list[str] = []
    for column in plot.columns:
        name = escape(plain(column.title))
        link = f'<a href="{escape(column.href)}" tabindex="-1" aria-label="{name}">'
        parts.append(
            f'{link if column.href else ""}<g transform="translate({column.x:g})">'
            f"<title>{name}</title>"
            f'<rect class="hit" width="{plot.step}" height="{plot.height}"></rect>'
        )
        parts += (
            f'<rect class="c-{bar.tone}" x="{plot.bar_x:g}" y="{bar.y:g}" '
            f'width="{plot.bar_width:g}" height="{bar.height:g}"></rect>'
            for bar in column.bars
        )
        parts.append("</g></a>" if column.href else "</g>")
    return mark_safe("".join(parts))  # noqa: S308 - numbers, our words, and what is escaped above


@register.simple_tag
def table_rows(figure: Figure) -> SafeString:
    """The rows of a figure's table; the first cell of each is its head."""
    parts: list[str] = []
    links = figure.links or ("",) * len(figure.rows)
    for (first, *others), link in zip(figure.cells, links, strict=True):
        words = visible(first.text)
        head = f'<a class="link" href="{escape(link)}">{words}</a>' if link else words
        parts.append(f'<tr><th scope="row">{head}</th>')
        parts += (
            f"<td>{visible(cell.text)}</td>"
            if cell.kind == "text"
            else f'<td class="r">{escape(cell.text)}</td>'
            for cell in others
        )
        parts.append("</tr>")
    return mark_safe("".join(parts))  # noqa: S308 - each cell is escaped above
