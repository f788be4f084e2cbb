"""Verbs of `policy`: what policies say, would have matched and would touch; and their changes."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Final

from pydantic import ValidationError

from approvals.policies import queries as queries_policies
from approvals.policies.drafts import ACTIONS
from approvals.policies.queries import VersionRow
from checkpoints.errors import InvalidValue
from checkpoints.state import deltas
from dashboard.administration.policies import draft_from, preview_policy, try_policy
from dashboard.administration.policy_calls import (
    CHANGE,
    MAKE,
    POLICY,
    PolicyChange,
    PolicyDetail,
    PolicyDraft,
    detail_of,
    list_of,
    policy_named,
    tried_of,
)
from dashboard.administration.policy_form import differences, seat_line, would_have
from dashboard.errors import Invalid
from dashboard.identity.permissions import Actor
from dashboard.kit.action import read
from dashboard.kit.api.base import refusal_of
from dashboard.kit.terminal.console import PersonalCommand, Verb
from dashboard.kit.terminal.tables import facts, table

SHOWN = 50
POSITION = "from 1; the first that matches decides, after those that block"


def list_policies(command: PersonalCommand) -> None:
    """All policies in their order."""
    actor = command.actor("read")
    rows = queries_policies.policies(actor.workspace)
    shown = (
        (i, row.name, "on" if row.active else "off", row.number, row.action, row.condition[:60])
        for i, row in enumerate(rows, 1)
    )
    command.show(
        list_of(rows),
        table("", ("place", "policy", "is", "version", "action", "condition"), shown),
    )
    if not rows:
        command.say("There is no policy; an admin makes them under /admin/policies/.")


def _show_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("policy", help="its name or id; `policy list` shows them")


def show(command: PersonalCommand) -> None:
    """One policy with what each version changed."""
    actor = command.actor("read")
    row = _row(actor, command.options["policy"])
    versions = queries_policies.versions(row.policy, workspace=actor.workspace)
    policy_detail: PolicyDetail = detail_of(row)
    changed = (
        (v.number, f"{v.made_at:%Y-%m-%d %H:%M}", heading, before or "-", after or "-")
        for v, older in zip(versions, [*versions[1:], None], strict=True)
        for heading, before, after in differences(v, older)
    )
    command.show(
        policy_detail,
        facts(
            "",
            [
                ("policy", row.name),
                ("id", row.policy),
                ("is", "on" if row.active else "off"),
                ("version", row.number),
                ("action", row.action),
                ("condition", row.condition),
                *([("why", row.note)] if row.note else []),
                ("who", "; then ".join(seat_line(seat) for seat in row.terms.stages)),
                ("waiting", policy_detail.waiting),
            ],
        ),
        table("Versions", ("version", "made", "what", "before", "after"), changed),
    )


def _row(actor: Actor, named: str) -> VersionRow:
    return queries_policies.policy(policy_named(actor, named), workspace=actor.workspace)


def _try_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("condition", help="CEL, such as 'amount(args.total) > 1000'")
    parser.add_argument("--action", choices=ACTIONS, default="ask")


def try_condition(command: PersonalCommand) -> None:
    """List past actions that a condition would have matched; needs the role admin."""
    actor = command.actor("policy")
    result = try_policy(actor, command.options["condition"], command.options["action"])
    shown = (
        (f"{one.at:%Y-%m-%d %H:%M}", one.tool, one.title[:60], one.outcome, one.problem or "")
        for one in result.matched[:SHOWN]
    )
    command.show(
        tried_of(result),
        table("", ("at", "tool", "what", "became", "no answer because"), shown),
    )
    back = (
        f"Complete back to {result.since:%Y-%m-%d %H:%M:%S}." if result.since else "All on record."
    )
    command.say(f"{would_have(result, command.options['action'])}. {back}")
    for text in result.warnings:
        command.say(f"Warning: {text}")


def _preview_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("policy", nargs="?", help="its name or id; none: the file is a new policy")
    parser.add_argument("--draft", metavar="FILE", help="what it is to say, as JSON of the API")
    parser.add_argument("--switch", choices=("on", "off"))
    parser.add_argument(
        "--position",
        type=int,
        help=POSITION,
    )


def preview(command: PersonalCommand) -> None:
    """Count the open, held and settled requests a change would touch; changes nothing."""
    actor, options = command.actor("policy"), command.options
    row = _row(actor, options["policy"]) if options["policy"] else None
    file = options["draft"]
    draft = None if file is None else draft_from(_draft(file).model_dump())
    if row is None and draft is None:
        raise Invalid("$.draft", "name a policy, or give what a new one is to say")
    counts = preview_policy(
        actor,
        None if row is None else row.policy,
        draft=draft,
        seen=None if row is None or draft is None else row.number,
        active=None if options["switch"] is None else options["switch"] == "on",
        position=options["position"],
    )
    rows = [(name, getattr(counts, name)) for name in ("open", "held", "settled")]
    command.show(counts, facts("Requests that it touches", rows))
    if not counts.complete:
        command.say("There are more than were looked at.")


def _draft(path: str) -> PolicyDraft:
    try:
        return PolicyDraft.model_validate(deltas.decode_file(Path(path).read_bytes()))
    except OSError as error:
        raise Invalid("$.draft", f"cannot be read: {error.strerror}") from error
    except ValidationError as error:
        raise refusal_of(error) from error
    except InvalidValue as error:
        raise Invalid("$.draft", f"is not what a policy says: {error}") from error


def _create_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("draft", metavar="FILE", help="what it says, as JSON of the API")


def create(command: PersonalCommand) -> None:
    """A new policy, last in the order and switched on."""
    actor, wanted = command.actor(MAKE.right), _draft(command.options["draft"])
    row = MAKE.run(actor, wanted)
    _show(command, row)
    command.say(MAKE.done(wanted, row))


def _change_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(POLICY.name, help=POLICY.help)
    parser.add_argument("--draft", metavar="FILE", help="what it says from now on")
    parser.add_argument("--number", type=int, help="with --draft: the version that you looked at")
    parser.add_argument(
        "--waiting", choices=("keep", "reopen"), default="", help="what happens to open requests"
    )
    parser.add_argument("--switch", choices=("on", "off"))
    parser.add_argument(
        "--position",
        type=int,
        help=POSITION,
    )


def change(command: PersonalCommand) -> None:
    """Another version, on or off, or another place."""
    actor, options = command.actor(CHANGE.right), command.options
    row, file = _row(actor, options["policy"]), options["draft"]
    values = {name: options[name] for name in ("number", "waiting", "position")}
    if file is not None:
        seen = row.number if options["number"] is None else options["number"]
        values |= {"draft": _draft(file), "number": seen}
    if options["switch"] is not None:
        values["active"] = options["switch"] == "on"
    wanted = read(PolicyChange, values)
    result = CHANGE.run(actor, wanted, row.policy)
    _show(command, result[0])
    command.say(CHANGE.done(wanted, result))


def _show(command: PersonalCommand, row: VersionRow) -> None:
    values = (("policy", row.name), ("is", "on" if row.active else "off"), ("version", row.number))
    command.show(detail_of(row), facts("", [*values, ("condition", row.condition)]))


# What a policy says is a file, and what a change would touch has a verb of its own: by hand.
VERBS: Final = (
    Verb("list", "list policies in their order", list_policies),
    Verb(
        "show",
        "show a policy and what each version changed",
        show,
        _show_options,
        "policy show Mails",
    ),
    Verb(
        "try",
        "say what a condition would have matched among the past",
        try_condition,
        _try_options,
        "policy try 'tool == \"mail\"'\npolicy try 'operation == \"fork\"' --json",
    ),
    Verb(
        "preview",
        "count the requests that a change of a policy would touch; changes nothing",
        preview,
        _preview_options,
        "policy preview Mails --switch off\npolicy preview Mails --draft mails.json",
    ),
    Verb("create", MAKE.help, create, _create_options, MAKE.examples, MAKE.name),
    Verb("change", CHANGE.help, change, _change_options, CHANGE.examples, CHANGE.name),
)
