"""The figures of the overview in a terminal."""

from __future__ import annotations

from dashboard.kit.filters import option_texts
from dashboard.kit.terminal.console import PersonalCommand
from dashboard.kit.terminal.tables import Table, table

from .calls import OverviewAnswer
from .choices import CHOICES, overview_of
from .figure import Figure
from .figures import all_figures, figure


def show_overview(command: PersonalCommand) -> None:
    """All figures of a period, or one."""
    o, actor = command.options, command.actor("read")
    texts = option_texts(CHOICES, o)
    look, name = overview_of(actor.workspace, texts), texts.get("figure", "")
    if o["csv"] and name:
        command.stdout.write(figure(look, name).csv(), ending="")
        return
    chosen = [figure(look, name)] if name else all_figures(look)
    command.show(OverviewAnswer.of(look, name), *map(_table, chosen))


def _table(one: Figure) -> Table:
    titles = [column.title for column in one.columns]
    return table(one.title, titles, ([cell.text for cell in row] for row in one.cells))
