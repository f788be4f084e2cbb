"""Saved states at the verb: what is refused, what is written, and when the commit waits."""

from __future__ import annotations

import pytest
from django.db import connection

from checkpoints import queries
from checkpoints.states import Status
from dashboard.errors import ActionError, Conflict, Invalid, NotAllowedNow, Stale
from dashboard.external import leases, saved_states
from dashboard.threads.cancel import cancel
from dashboard.threads.pause import PAUSE, Pause
from tests.support.cast import Cast
from tests.unit.dashboard import scene


def test_a_save_is_one_checkpoint_and_leaves_the_thread_free(cast: Cast) -> None:
    operator = cast.actor("operator")
    first = saved_states.save_state(operator, "x", {"turn": 1, "notes": ["tea"]})
    second = saved_states.save_state(operator, "x", {"turn": 2})
    row, newest = saved_states.load_state(cast.actor("auditor"), "x")
    assert (first.number, second.number, newest.id) == (1, 2, second.id)
    assert (row.status, row.lease_owner, row.crash_count) == (Status.QUEUED, "", 0)
    assert queries.state_at(row.id, second.id) == {"turn": 2}
    kinds = [event.kind for event in queries.events_after(row.id, 0, limit=50)]
    assert kinds.count("checkpoint.committed") == 2


def test_the_commit_of_a_save_waits_for_the_flush(cast: Cast) -> None:
    """A lease alone does not; it is taken in the transaction of the save."""
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL synchronous_commit = on")
        saved_states.save_state(cast.actor("operator"), "x", {"turn": 1})
        cursor.execute("SHOW synchronous_commit")
        assert cursor.fetchone() == ("on",)


def test_a_save_after_another_one_changes_nothing(cast: Cast) -> None:
    operator = cast.actor("operator")
    saved_states.save_state(operator, "x", {"turn": 1}, after=0)
    with pytest.raises(Stale) as error:
        saved_states.save_state(operator, "x", {"turn": 9}, after=0)
    assert error.value.facts["number"] == 1
    row, point = saved_states.load_state(operator, "x")
    assert (row.lease_owner, queries.state_at(row.id, point.id)) == ("", {"turn": 1})


@pytest.mark.parametrize("verb", ["pause", "cancel"])
def test_what_a_person_stopped_takes_nothing(cast: Cast, verb: str) -> None:
    operator = cast.actor("operator")
    thread = saved_states.save_state(operator, "x", {"turn": 1}).thread
    if verb == "pause":
        PAUSE.run(operator, Pause(), thread)
    else:
        cancel(operator, thread)
    with pytest.raises(NotAllowedNow):
        saved_states.save_state(operator, "x", {"turn": 2})


def test_while_somebody_works_on_the_thread_the_save_is_refused(cast: Cast) -> None:
    operator = cast.actor("operator")
    thread = saved_states.save_state(operator, "x", {"turn": 1}).thread
    leases.take(operator, thread, "host-1", 60)
    with pytest.raises(Conflict) as error:
        saved_states.save_state(operator, "x", {"turn": 2})
    assert error.value.code == "leased"


def test_a_bucket_that_workers_serve_is_refused(cast: Cast) -> None:
    scene.make_agent()
    with pytest.raises(Conflict):
        saved_states.save_state(cast.actor("operator"), "x", {"turn": 1}, bucket="research")


@pytest.mark.parametrize(
    ("how", "path"),
    [
        ({"name": ""}, "$.name"),
        ({"name": "x" * 256}, "$.name"),
        ({"bucket": " "}, "$.bucket"),
        ({"bucket": "notes\u200b"}, "$.bucket"),  # no name of an agent
        ({"bucket": "mcp:notes"}, "$.bucket"),  # an agent of the MCP gateway
        ({"state": {"a": float("nan")}}, "$.state.a"),
    ],
)
def test_bad_values_name_their_path(cast: Cast, how: dict[str, object], path: str) -> None:
    args = {"name": "x", "state": {"a": 1}, "bucket": "b", **how}
    with pytest.raises(Invalid) as error:
        saved_states.save_state(cast.actor("operator"), args.pop("name"), args.pop("state"), **args)
    assert error.value.path == path


@pytest.mark.parametrize("who", ["manager", "auditor", "admin", "viewer"])
def test_only_those_who_work_may_save(cast: Cast, who: str) -> None:
    with pytest.raises(ActionError) as error:
        saved_states.save_state(cast.actor(who), "x", {"turn": 1})
    assert error.value.status == 403
