"""The configuration of a fork: previewed, written on its first checkpoint, shown everywhere."""

from __future__ import annotations

import html
import json
from typing import Any
from uuid import UUID

import pytest
from django.core.management import call_command
from django.test import Client

from checkpoints import queries, store
from checkpoints.chain import verify_thread
from dashboard.threads.fork import preview_fork
from tests.support.cast import Cast
from tests.unit.dashboard import scene
from tests.unit.dashboard.calls import V1, post, refused

CONFIG = {"model": "small", "temperature": 0.2, "prompts": {"system": "Be brief."}}


@pytest.fixture
def base(cast: Cast) -> UUID:
    return store.start(
        scene.make_agent(),
        input={"goal": "delays"},
        workspace=cast.workspace,
        actor="user:1",
        title="Delays",
        config=CONFIG,
    )


def head_of(thread: UUID) -> str:
    return str(queries.checkpoint_by_number(thread, 0).id)


def test_a_start_keeps_it_and_a_fork_takes_what_differs(operator: Client) -> None:
    scene.make_agent()
    body = {"agent": "research", "input": {"goal": "delays"}, "config": CONFIG}
    thread = UUID(post(operator, "/threads/", body).json()["id"])
    assert queries.config_of(thread) == CONFIG
    ask = {"checkpoint": head_of(thread), "config": {"model": "large", "temperature": None}}
    preview = post(operator, f"/threads/{thread}/fork/?preview=1", ask).json()
    wanted = {"model": "large", "prompts": CONFIG["prompts"]}
    assert preview["config"] == wanted
    made = post(operator, f"/threads/{thread}/fork/", ask)
    assert made.status_code == 201
    fork = UUID(made.json()["id"])
    assert queries.config_of(fork) == wanted
    state = operator.get(f"{V1}/threads/{fork}/state/").json()
    assert state["context"]["config"] == wanted
    [event] = queries.events_after(fork, 0)
    assert event.data["config"] == ask["config"]
    assert verify_thread(fork).intact
    assert queries.config_of(thread) == CONFIG


@pytest.mark.parametrize(
    ("config", "path"),
    [
        ([], "$.config"),
        ("model", "$.config"),
        ({"a": "x" * 70_000}, "$.config"),
        ({"a": {"b": "\x00"}}, "$.config.a.b"),
        ({"a": 2**60}, "$.config.a"),
    ],
)
def test_what_no_configuration_can_be(operator: Client, base: UUID, config: Any, path: str) -> None:
    ask = {"checkpoint": head_of(base), "config": config}
    for address in (f"/threads/{base}/fork/", f"/threads/{base}/fork/?preview=1"):
        problem = post(operator, address, ask)
        assert problem.status_code in (400, 422)
        refused(problem, problem.status_code, path)
    assert queries.forks_of(base) == []


def test_an_altered_configuration_is_found(base: UUID) -> None:
    from tests.unit.checkpoints.builders import rows

    assert verify_thread(base).intact
    rows("SET LOCAL session_replication_role = replica")
    rows(
        'UPDATE gp_checkpoint SET config = \'{"model": "other"}\' WHERE thread_id = %s::uuid',
        (base,),
    )
    report = verify_thread(base)
    assert (report.intact, report.first_broken_seq) == (False, 1)


def test_the_form_shows_it_and_posts_what_changed(cast: Cast, operator: Client, base: UUID) -> None:
    page = operator.get(f"/threads/{base}/fork/")
    assert page.status_code == 200
    assert html.escape(json.dumps(CONFIG, indent=2, sort_keys=True)) in page.content.decode()
    values = {"checkpoint": head_of(base), "f-goal": "delays", "title": "Other", "effects": "ask"}
    bad = operator.post(f"/threads/{base}/fork/", values | {"config": "{model: x}"})
    assert bad.status_code == 422
    assert "is not JSON" in bad.content.decode()
    assert "{model: x}" in bad.content.decode()
    assert operator.post(f"/threads/{base}/fork/", values | {"config": "[]"}).status_code == 422
    done = operator.post(
        f"/threads/{base}/fork/", values | {"config": '{"model": "<large>", "temperature": 0.2}'}
    )
    assert done.status_code == 303
    [fork] = queries.forks_of(base)
    assert queries.config_of(fork.id) == {"model": "<large>", "temperature": 0.2}
    [event] = queries.events_after(fork.id, 0)
    assert event.data["config"] == {"model": "<large>", "prompts": None}
    shown = operator.get(f"/threads/{fork.id}/").content.decode()
    assert "<dt>model</dt><dd>&lt;large&gt;</dd>" in shown
    # Without a change there is none in the log.
    operator.post(f"/threads/{base}/fork/", values | {"config": json.dumps(CONFIG)})
    same = next(f for f in queries.forks_of(base) if f.id != fork.id)
    assert queries.config_of(same.id) == CONFIG
    assert "config" not in queries.events_after(same.id, 0)[0].data


def test_the_commands_take_it(cast: Cast, base: UUID, capsys: pytest.CaptureFixture[str]) -> None:
    fork = ("threads", "fork", str(base), "--config", '{"model": "large"}')
    call_command(*fork, "--preview")
    assert "model = large" in capsys.readouterr().out
    call_command(*fork, "--json")
    made = json.loads(capsys.readouterr().out)
    assert queries.config_of(UUID(made["id"]))["model"] == "large"
    with pytest.raises(SystemExit):
        call_command("threads", "fork", str(base), "--config", "7")
    plan = preview_fork(cast.actor("operator"), base, UUID(head_of(base)), None, {"model": None})
    assert "model" not in plan.config
