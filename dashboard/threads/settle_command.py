"""The verb of `threads` that answers what a thread asks about an effect."""

from __future__ import annotations

import argparse

from checkpoints.verdicts import Verdict
from dashboard.errors import NotAllowedNow
from dashboard.kit.action import read
from dashboard.kit.terminal.arguments import add_version_argument, json_given
from dashboard.kit.terminal.console import PersonalCommand, Usage, Verb
from dashboard.threads.command import takes_reason
from dashboard.threads.descriptions import show_thread
from dashboard.threads.page import effect_question
from dashboard.threads.reads_command import on_thread, thread_of
from dashboard.threads.settle import SETTLE, Settle


def _options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("verdict", choices=[str(one).replace("_", "-") for one in Verdict])
    parser.add_argument(
        "--result", metavar="JSON|@PATH", help="what the tool answered, with happened; else null"
    )


def settle(command: PersonalCommand) -> None:
    """Answer exactly the question that stands now."""
    o = command.options
    actor, thread = thread_of(command, "settle")
    request = effect_question.effect_question_of(thread)
    if request is None:
        raise NotAllowedNow(
            "The thread has no open question about an effect.", status=str(thread.status)
        )
    if o["result"] is not None and o["verdict"] != "happened":
        raise Usage("--result", "goes with happened only")
    fields = {
        "activity": request.effect.id,
        "verdict": o["verdict"].replace("-", "_"),
        "reason": o["reason"],
    }
    if o["result"] is not None:
        fields["result"] = json_given(o["result"], "--result")
    SETTLE.run(actor, read(Settle, fields), thread.id, expected_version=o["version"])
    show_thread(command, actor, thread.id)


SETTLING = (
    Verb(
        "settle",
        SETTLE.help,
        settle,
        on_thread(_options, takes_reason, add_version_argument),
        SETTLE.examples,
        SETTLE.name,
    ),
)
