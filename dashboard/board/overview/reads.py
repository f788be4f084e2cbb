"""Reads of one look at the overview, each statement at most once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from functools import cached_property
from uuid import UUID

from approvals.queries.decided import Decided, decided
from checkpoints import queries
from checkpoints.durabilities import HOT
from checkpoints.hot.streams import HotStoreAway
from checkpoints.queries import AgentLag, BudgetStanding, FigureRow, LoadRow
from checkpoints.queries.installation.table_sizes import TableSizes, table_sizes
from checkpoints.views import AgentRow
from dashboard.identity.people import people

from .period import Period

NOTHING = Decimal(0)


@dataclass(slots=True)
class Sum:
    """Number, tokens and cost."""

    n: int = 0
    tokens: int = 0
    cost: Decimal = NOTHING

    def add(self, row: FigureRow) -> None:
        """Take a row in."""
        self.n += row.n
        self.tokens += row.tokens
        self.cost += row.cost


@dataclass
class Overview:
    """A workspace in a period, all agents or one."""

    workspace: UUID
    period: Period
    agent: str = ""

    @cached_property
    def rows(self) -> list[FigureRow]:
        """All that threads did and spent."""
        p = self.period
        return queries.figures(
            workspace=self.workspace, low=p.low, high=p.high, unit=p.unit, agent=self.agent
        )

    @cached_property
    def _by_figure(self) -> dict[str, list[FigureRow]]:
        results: dict[str, list[FigureRow]] = defaultdict(list)
        for row in self.rows:
            results[row.figure].append(row)
        return results

    @cached_property
    def decided(self) -> Decided:
        """Decisions of people, and how long requests had waited."""
        p = self.period
        return decided(
            workspace=self.workspace, low=p.low, high=p.high, unit=p.unit, agent=self.agent
        )

    @cached_property
    def people(self) -> dict[str, str]:
        """Names of those who decided."""
        return people(person for person, *_ in self.decided.reviewers)

    @cached_property
    def load(self) -> LoadRow:
        """The work of this moment, whatever the period."""
        return queries.load(workspace=self.workspace, agent=self.agent)

    @cached_property
    def agents(self) -> list[AgentRow]:
        """The agents of the workspace, in their newest versions."""
        return queries.agents(workspace=self.workspace)

    @cached_property
    def has_hot_agents(self) -> bool:
        """Answer True if any of these agents keeps its steps in the hot store first."""
        return any(one.durability == HOT and self.agent in ("", one.agent) for one in self.agents)

    @cached_property
    def hot_lags(self) -> list[AgentLag] | None:
        """Hot agents whose steps are not all drained; None if the hot store does not answer."""
        try:
            lags = queries.agent_lags()
        except HotStoreAway:
            return None
        mine = [one for one in lags if one.workspace == self.workspace]
        return [one for one in mine if self.agent in ("", one.agent)]

    @cached_property
    def sizes(self) -> TableSizes:
        """Sizes of the tables of the installation, and when they were read."""
        return table_sizes(workspace=self.workspace)

    @cached_property
    def slots(self) -> int:
        """Slots of all workers that are alive."""
        return sum(worker.slots for worker in queries.workers() if worker.alive)

    @cached_property
    def budgets(self) -> list[BudgetStanding]:
        """Budgets and what is spent of them this month, whatever the period."""
        return queries.budget_standings(self.workspace)

    def sums[K](
        self, key: Callable[[FigureRow], K], figures: Iterable[str]
    ) -> dict[K, dict[str, Sum]]:
        """{key: {figure: sum}} over the rows of these figures."""
        results: dict[K, dict[str, Sum]] = defaultdict(lambda: defaultdict(Sum))
        for figure in dict.fromkeys(figures):
            for row in self._by_figure.get(figure, ()):
                results[key(row)][figure].add(row)
        return results

    def by_time(self, *figures: str) -> list[tuple[datetime, dict[str, Sum]]]:
        """The sums of each hour or day, in order; also of those in which nothing happened."""
        sums = self.sums(lambda row: row.at, figures)
        return [(at, sums[at]) for at in self.period.times]

    def total(self, *figures: str) -> dict[str, Sum]:
        """The sums of the whole period."""
        return self.sums(lambda row: "", figures)[""]
