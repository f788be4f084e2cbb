"""`./manage.py agent ...`: check an agent's module, see what workers announced."""

from dashboard.kit.terminal.console import VerbsCommand
from dashboard.operate.agents.announced import AGENT


class Command(VerbsCommand):
    """`check` imports an agent's code in a process of its own, `impact` in this one."""

    help = (
        "Checks an agent's module, says what it would do with suspended threads; shows announced "
        "agents, their versions, workers, threads."
    )
    examples = """
        agent check mine.agent
        agent impact
        agent list
        agent show market-research --json
    """
    verbs = AGENT
