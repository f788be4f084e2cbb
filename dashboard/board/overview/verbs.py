"""The figures of the overview in a terminal."""

from __future__ import annotations

from dashboard.kit.terminal.console import PersonalCommand
from dashboard.kit.terminal.tables import Table, table

from .calls import OverviewAnswer
from .figure import Figure
from .figures import all_figures, figure
from .period import period_of
from .reads import Overview


def show_overview(command: PersonalCommand) -> None:
    """All figures of a period, or one."""
    o, actor = command.options, command.actor("read")
    period = period_of(name=o["period"], first=o["first"], last=o["last"])
    look = Overview(actor.workspace, period, o["agent"])
    if o["csv"] and o["figure"]:
        command.stdout.write(figure(look, o["figure"]).csv(), ending="")
        return
    chosen = [figure(look, o["figure"])] if o["figure"] else all_figures(look)
    command.show(OverviewAnswer.of(look, o["figure"]), *map(_table, chosen))


def _table(one: Figure) -> Table:
    titles = [column.title for column in one.columns]
    return table(one.title, titles, ([cell.text for cell in row] for row in one.cells))
