"""What is removed the moment after its change is committed: the change still has its answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.db import connection

from dashboard.administration import subscriptions
from dashboard.approvals.hand_over import HAND_OVER, HandOver
from dashboard.board.saved_views import view_actions
from dashboard.board.saved_views.view_actions import ChangeView
from tests.contract import things
from tests.support.cast import Cast, make_cast
from tests.unit.dashboard import scene

Call = Callable[[], Any]


@contextmanager
def emptying(monkeypatch: pytest.MonkeyPatch, table: str) -> Iterator[None]:
    """After each commit another connection removes all rows of a table."""
    commit, other = connection.commit, connection.copy()

    def and_empty() -> None:
        commit()
        with other.cursor() as cursor:
            cursor.execute(f"DELETE FROM {table}")

    with monkeypatch.context() as patch:
        patch.setattr(connection, "commit", and_empty)
        yield
    other.close()


def handed_over(cast: Cast) -> tuple[str, Call]:
    request = scene.waiting(cast.workspace, scene.make_agent())
    who = cast.actor("manager")
    return "gp_deputy", partial(HAND_OVER.run, who, HandOver(to="second_manager"), request.id)


def deputy(cast: Cast) -> tuple[str, Call]:
    return "gp_deputy", partial(things.make_deputy, cast, "manager", "second_manager")


def device(cast: Cast) -> tuple[str, Call]:
    return "gp_push_device", partial(things.make_device, cast, "operator")


def subscription(cast: Cast) -> tuple[str, Call]:
    mail = things.make_mail(cast.workspace)
    return "gp_subscription", partial(things.make_subscription, cast, "operator", mail)


def changed_subscription(cast: Cast) -> tuple[str, Call]:
    made = things.make_subscription(cast, "operator", things.make_mail(cast.workspace))
    wanted = subscriptions.ChangeSubscription(kinds=["thread.stuck"])
    change = partial(subscriptions.CHANGE.run, cast.actor("operator"), wanted, made)
    return "gp_subscription", change


def view(cast: Cast) -> tuple[str, Call]:
    return "gp_saved_view", partial(things.make_view, cast, "operator")


def changed_view(cast: Cast) -> tuple[str, Call]:
    made = things.make_view(cast, "operator")
    wanted = ChangeView(name=f"Other {uuid4().hex[:8]}")
    change = partial(view_actions.CHANGE.run, cast.actor("operator"), wanted, made)
    return "gp_saved_view", change


def server(cast: Cast) -> tuple[str, Call]:
    return "gp_mcp_server", partial(added, cast)


def changed_server(cast: Cast) -> tuple[str, Call]:
    made = added(cast)
    wanted = things.mcp_servers.Wanted(active=False)
    change = partial(things.mcp_servers.change, made.id, wanted, workspace=cast.workspace)
    return "gp_mcp_server", partial(change, actor="user:0")


def added(cast: Cast) -> Any:
    wanted = things.mcp_servers.Wanted(url="https://mcp.example.com/x")
    return things.mcp_servers.add(cast.workspace, "tools", wanted, actor="user:0")


@pytest.mark.parametrize(
    "made",
    [
        handed_over,
        deputy,
        device,
        subscription,
        changed_subscription,
        view,
        changed_view,
        server,
        changed_server,
    ],
)
def test_a_change_answers_with_what_it_committed(
    real_db: str, monkeypatch: pytest.MonkeyPatch, made: Callable[[Cast], tuple[str, Call]]
) -> None:
    table, call = made(make_cast())
    with emptying(monkeypatch, table):
        result = call()
    assert isinstance(result if isinstance(result, UUID) else result.id, UUID)
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT count(*) FROM {table}")
        assert cursor.fetchone() == (0,), "nothing was removed, so nothing was tried"
