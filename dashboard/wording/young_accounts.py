"""A vote by an account that a participant of the same request has just created, in words."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from uuid import UUID

from approvals.queries import ApprovalRow
from approvals.rules.votes import Vote, person
from checkpoints import queries
from dashboard.identity.people import joined_at, people

YOUNG = timedelta(days=30)


def young_accounts(row: ApprovalRow, votes: Sequence[Vote]) -> dict[UUID, str]:
    """{decision: "Account created by ada 3 days before this vote."} of votes worth a second look.

    That is a vote of an account that was made less than 30 days before it, by somebody who started
    the thread, is barred by four eyes, or voted on the request as well. Who made an account is read
    from the logs of workspaces. Nothing is blocked: the page says it to people and auditors.
    """
    if row.imported or not votes:
        return {}  # the people of an imported request are those of another installation
    joined = joined_at({vote.person for vote in votes})
    ages = {
        vote.decision: (vote.person, vote.at - joined[vote.person])
        for vote in votes
        if vote.at is not None and vote.person in joined
    }
    young = {decision: value for decision, value in ages.items() if value[1] < YOUNG}
    if not young:
        return {}
    creators = queries.creators_of({who for who, _ in young.values()})
    suspects = {
        decision: (person(creators[who]), age)
        for decision, (who, age) in young.items()
        if who in creators and person(creators[who]) != who
    }
    if not suspects:
        return {}
    started_by = queries.thread(row.thread, workspace=row.workspace).started_by
    hands = {person(started_by), *row.progress.barred, *(vote.person for vote in votes)}
    names = people({creator for creator, _ in suspects.values()})
    return {
        decision: f"Account created by {names.get(creator, creator)} {_days(age)} before this vote."
        for decision, (creator, age) in suspects.items()
        if creator in hands
    }


def _days(age: timedelta) -> str:
    days = max(age.days, 0)
    if not days:
        return "less than a day"
    return "1 day" if days == 1 else f"{days} days"
