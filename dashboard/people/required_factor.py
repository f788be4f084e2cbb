"""The roles of a workspace that need a second factor: shown, and set by an admin."""

from __future__ import annotations

import argparse
from typing import Annotated, Final

from pydantic import Field

from checkpoints.states import WorkspaceEventKind
from dashboard.identity.administrator import Administrator
from dashboard.identity.permissions import ROLES, Actor
from dashboard.kit.action import Action, read
from dashboard.kit.resource import reading
from dashboard.kit.shapes.requests import RequestShape
from dashboard.kit.shapes.texts import OneOf
from dashboard.kit.terminal.console import PersonalCommand, Verb
from dashboard.kit.terminal.tables import facts
from dashboard.people.second_factor import RequiredFactor, require_factor, required_factor


class RequireFactor(RequestShape):
    """Exactly these roles need a second factor from now on; none: nobody does."""

    roles: Annotated[list[Annotated[str, OneOf(ROLES)]], Field(max_length=len(ROLES))]


def _required(actor: Actor) -> RequiredFactor:
    return required_factor(Administrator(actor, superuser=False))


def _require(actor: Actor, wanted: RequireFactor) -> RequiredFactor:
    return require_factor(Administrator(actor, superuser=False), wanted.roles)


REQUIRE: Final = Action(
    name="workspace.require_second_factor",
    call_id="workspace_second_factor_require",
    right="people",
    takes=RequireFactor,
    answers=RequiredFactor,
    perform=_require,
    events=(WorkspaceEventKind.FACTOR_REQUIRED,),
    summary="Require a second factor of roles",
    description="A person who has one of them, signs in by a password and has no second "
    "factor sets one up before anything else; until then their tokens decide nothing "
    "(`second-factor`).",
    help="shows or sets the roles that need a second factor",
    done=lambda _, row: f"A second factor is required of: {', '.join(row.roles) or 'nobody'}.",
    examples="""
        workspace second-factor --as admin
        workspace second-factor reviewer,admin --as admin
        workspace second-factor none --as admin
        """,
)
REQUIRED: Final = reading(
    "workspace_second_factor_retrieve",
    RequiredFactor,
    _required,
    summary="The roles that need a second factor, and who has none yet",
    description="For auditors and admins.",
)


def _show_or_set(command: PersonalCommand) -> None:
    actor, words = command.actor("read"), command.options["roles"]
    if words is None:
        row = _required(actor)
    else:
        roles = [] if words == "none" else [word for word in words.split(",") if word]
        wanted = read(RequireFactor, {"roles": roles})
        row = REQUIRE.run(actor, wanted)
        command.say(REQUIRE.done(wanted, row))
    command.show(
        row,
        facts(
            "Second factor",
            [
                ("required of", ", ".join(row.roles) or "nobody"),
                ("to be set up by", ", ".join(row.without) or "nobody"),
            ],
        ),
    )


def _roles_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "roles",
        metavar="ROLES",
        nargs="?",
        help=f"some of {', '.join(ROLES)}, by commas, or none; left out, it only shows",
    )


# A look and a change are one verb: by hand.
VERB: Final = Verb(
    "second-factor", REQUIRE.help, _show_or_set, _roles_options, REQUIRE.examples, REQUIRE.name
)
