"""`./manage.py agent ...`: check an agent's module, see what workers announced."""

from dashboard.commands.agents import AGENT
from dashboard.terminal import VerbsCommand


class Command(VerbsCommand):
    """Only `check` imports an agent's code, in a process of its own with a time limit."""

    help = "Checks an agent's module; shows announced agents, their versions, workers, threads."
    examples = """
        agent check mine.agent
        agent list
        agent show market-research --json
    """
    verbs = AGENT
