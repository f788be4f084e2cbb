"""What is tried again: how errors are read, how long is waited, when it is enough."""

from __future__ import annotations

import email.message
import http
import random
import socket
import urllib.error
from email.utils import formatdate
from typing import Any

import httpx
import pytest

from checkpoints.errors import InvalidValue
from checkpoints.store import hold_off
from workers.authoring.errors import GraphError
from workers.authoring.graph import END, Graph, State, tool
from workers.authoring.retry_policy import DEFAULT, LONGEST_SECONDS, Retry, RetryLater, policy_of
from workers.step.retries import allowed, judge, outcome_is_open
from workers.testing.harness import Harness, Scripted

NOW = 1_800_000_000.0


class Answer:
    """What clients hang on their errors."""

    def __init__(self, status: int, **headers: str) -> None:
        self.status_code = status
        self.headers = {name.replace("_", "-"): value for name, value in headers.items()}


class StatusError(Exception):
    """The form of requests, httpx, openai and anthropic."""

    def __init__(self, status: int, **headers: str) -> None:
        super().__init__(f"HTTP {status}")
        self.response = Answer(status, **headers)


class ClientResponseError(Exception):
    """The form of aiohttp."""

    status = http.HTTPStatus.TOO_MANY_REQUESTS
    headers = {"retry-after": "7"}


class APITimeoutError(Exception):
    """By name alone."""


class APIConnectionError(Exception):
    """By name alone."""


class Unsaid(Exception):
    """Says nothing about itself."""


def url_error(status: int, **headers: str) -> urllib.error.HTTPError:
    message = email.message.Message()
    for name, value in headers.items():
        message[name.replace("_", "-")] = value
    return urllib.error.HTTPError("http://here/", status, "no", message, None)


def judged(error: Exception) -> tuple[str, str, float | None]:
    result = judge(error, lambda: NOW)
    return result.passing.value, result.message, result.after


@pytest.mark.parametrize(
    ("error", "passing", "text", "after"),
    [
        (StatusError(429, Retry_After="20"), "refused", "answered 429", 20.0),
        (StatusError(429, Retry_After_Ms="1500"), "refused", "answered 429", 1.5),
        (StatusError(503), "refused", "answered 503", None),
        (StatusError(503, Retry_After="soon"), "refused", "answered 503", None),
        (StatusError(503, Retry_After="nan"), "refused", "answered 503", None),
        (StatusError(503, Retry_After="-4"), "refused", "answered 503", None),
        (StatusError(429, Retry_After="9" * 30), "refused", "answered 429", LONGEST_SECONDS),
        (StatusError(503, Retry_After=formatdate(NOW + 90)), "refused", "answered 503", 90.0),
        (StatusError(503, Retry_After=formatdate(NOW - 90)), "refused", "answered 503", 0.0),
        (
            # The server's clock goes wrong, and it says so itself.
            StatusError(503, Retry_After=formatdate(5000), Date=formatdate(4990)),
            "refused",
            "answered 503",
            10.0,
        ),
        (StatusError(408), "open", "answered 408", None),
        (StatusError(500), "open", "answered 500", None),
        (StatusError(504), "open", "answered 504", None),
        (StatusError(404), "no", "answered 404", None),
        (StatusError(501), "no", "answered 501", None),
        (url_error(429, retry_after="3"), "refused", "answered 429", 3.0),
        (url_error(403), "no", "answered 403", None),
        (ClientResponseError(), "refused", "answered 429", 7.0),
        (RetryLater(4, "the till is shut"), "refused", "said: the till is shut", 4.0),
        (TimeoutError("slow"), "open", "timed out", None),
        (APITimeoutError(), "open", "timed out", None),
        (APIConnectionError(), "open", "broke off the connection", None),
        (ConnectionResetError(), "open", "broke off the connection", None),
        (ConnectionRefusedError(), "refused", "could not be reached", None),
        (socket.gaierror(-2, "no such name"), "refused", "could not be reached", None),
        (urllib.error.URLError(ConnectionRefusedError()), "refused", "could not be reached", None),
        (urllib.error.URLError(TimeoutError()), "open", "timed out", None),
        (httpx.ConnectTimeout("x"), "refused", "could not be reached", None),
        (httpx.ReadTimeout("x"), "open", "timed out", None),
        (httpx.RemoteProtocolError("x"), "open", "broke off the connection", None),
        (ValueError("x"), "no", "failed with ValueError", None),
        (KeyError("x"), "no", "failed with KeyError", None),
        (ZeroDivisionError(), "no", "failed with ZeroDivisionError", None),
        (InvalidValue("$", "x"), "no", "failed with InvalidValue", None),
        (Unsaid(), "unsaid", "failed with Unsaid", None),
        (FileNotFoundError("x"), "unsaid", "failed with FileNotFoundError", None),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else None,
)
def test_an_error_is_read(error: Exception, passing: str, text: str, after: float | None) -> None:
    assert judged(error) == (passing, text, after)


def test_the_errors_of_real_clients_carry_their_answer() -> None:
    request = httpx.Request("GET", "http://here/")
    answer = httpx.Response(429, headers={"Retry-After": "5"}, request=request)
    with pytest.raises(httpx.HTTPStatusError) as caught:
        answer.raise_for_status()
    assert judged(caught.value) == ("refused", "answered 429", 5.0)
    assert not outcome_is_open(caught.value)
    assert outcome_is_open(httpx.ReadTimeout("x"))


@pytest.mark.parametrize(
    ("policy", "error", "repeatable", "again"),
    [
        (DEFAULT, StatusError(503), True, True),
        (DEFAULT, TimeoutError(), True, True),
        (DEFAULT, Unsaid(), True, False),
        (DEFAULT, ValueError(), True, False),
        (Retry(), Unsaid(), True, True),
        (Retry(), ValueError(), True, False),
        (Retry(never=(Unsaid,)), Unsaid(), True, False),
        (Retry(never=(TimeoutError,)), TimeoutError(), True, False),
        # Nobody knows whether it happened: what must not happen twice is not tried again.
        (Retry(), TimeoutError(), False, False),
        (Retry(), StatusError(500), False, False),
        (Retry(), StatusError(429), False, True),
        (Retry(), ConnectionRefusedError(), False, True),
        (Retry(), Unsaid(), False, True),
    ],
)
def test_a_policy_decides(policy: Retry, error: Exception, repeatable: bool, again: bool) -> None:
    result = judge(error, lambda: NOW)
    assert allowed(policy, error, result, repeatable=repeatable) is again


def test_waits_grow_to_a_cap() -> None:
    policy = Retry(first=0.5, factor=3, most=10)
    assert [policy.longest_wait(n) for n in (1, 2, 3, 4, 900)] == [0.5, 1.5, 4.5, 10, 10]


@pytest.mark.parametrize(
    "values",
    [
        {"attempts": 0},
        {"attempts": 2.5},
        {"first": -1},
        {"first": 5, "most": 1},
        {"most": 10 * LONGEST_SECONDS},
        {"factor": 0.5},
        {"jitter": 2},
        {"never": ["ValueError"]},
        {"never": (KeyboardInterrupt,)},
        {"first": float("nan")},
    ],
)
def test_what_is_no_policy_is_refused(values: dict[str, Any]) -> None:
    with pytest.raises(GraphError, match="is not a policy"):
        Retry(**values)


def test_the_nearest_policy_holds() -> None:
    one, two = Retry(attempts=1), Retry(attempts=2)
    assert policy_of(None, None) is DEFAULT
    assert policy_of(None, two) is two
    assert policy_of(one, two) is one
    with pytest.raises(GraphError, match="write retry=Retry"):
        policy_of(3, two)
    with pytest.raises(GraphError, match="write retry=Retry"):
        Graph("wrong", Note, retry=3)  # type: ignore[arg-type]


# ---- in the author's test bench ------------------------------------------------------------------


class Note(State):
    note: str = ""


def look_up(goal: str) -> str:
    raise NotImplementedError


def caller(**more: Any) -> Graph:
    graph = Graph("caller", Note)

    @graph.node(then=END)
    def call(state: Note, ctx: Any) -> dict[str, str]:
        return {"note": ctx.activity(look_up, "tea", **more)}

    return graph


def slept(thread: Any) -> list[float]:
    return [e.data["seconds"] for e in thread.events if e.kind == "thread.slept"]


def test_it_sleeps_as_long_as_asked_and_calls_again() -> None:
    answers = Scripted(StatusError(429, Retry_After="20"), TimeoutError(), "found")
    thread = Harness(caller(), tools={"look_up": answers}).play()
    assert (thread.status, thread.state["note"]) == ("succeeded", "found")
    failed = [e.data for e in thread.events if e.kind == "activity.failed"]
    assert [d.get("attempt", 1) for d in failed] == [1, 2]
    assert [d["retry_in"] for d in failed] == slept(thread)
    first, second = slept(thread)
    assert 20 <= first <= 21
    assert 0 <= second <= 2
    reasons = [e.data["reason"] for e in thread.events if e.kind == "thread.slept"]
    assert reasons == [
        "look_up answered 429; attempt 2 of 5",
        "look_up timed out; attempt 3 of 5",
    ]
    assert [a.attempts for a in thread.activities] == [3]
    assert thread.verify() == len(thread.events)


@pytest.mark.requirement("A04")
def test_used_up_attempts_fail_the_step_and_a_click_begins_anew() -> None:
    answers = Scripted(*[StatusError(503)] * 6, "found")
    thread = Harness(caller(retry=Retry(attempts=3)), tools={"look_up": answers}).play()
    assert thread.status == "failed"
    assert "HTTP 503 (after 3 attempts)" in thread.reason
    assert len(answers.calls) == 3
    thread.retry().go_on()
    assert (thread.status, len(answers.calls)) == ("failed", 6)
    thread.retry().go_on()
    assert (thread.status, thread.state["note"]) == ("succeeded", "found")
    assert [a.attempts for a in thread.activities] == [7]


@pytest.mark.parametrize(
    ("more", "error", "calls"),
    [
        ({}, ValueError("a bug"), 1),
        ({}, Unsaid("who knows"), 1),
        ({}, StatusError(404), 1),
        ({}, StatusError(502), 5),
        ({"retry": Retry(attempts=2)}, Unsaid("who knows"), 2),
        ({"retry": Retry(attempts=1)}, StatusError(503), 1),
        ({"retry": Retry(never=(StatusError,))}, StatusError(503), 1),
    ],
)
def test_how_often_it_is_called(more: dict[str, Any], error: Exception, calls: int) -> None:
    answers = Scripted(*[error] * 10)
    thread = Harness(caller(**more), tools={"look_up": answers}).play()
    assert (thread.status, len(answers.calls)) == ("failed", calls)
    assert "retry_in" not in [e for e in thread.events if e.kind == "activity.failed"][-1].data


def test_the_author_may_take_another_way_when_all_was_in_vain() -> None:
    graph = Graph("patient", Note, retry=Retry(attempts=2))

    @graph.node(then=END)
    def call(state: Note, ctx: Any) -> dict[str, str]:
        try:
            return {"note": ctx.activity(look_up, "tea")}
        except Unsaid:
            return {"note": "without"}

    answers = Scripted(*[Unsaid()] * 2)
    thread = Harness(graph, tools={"look_up": answers}).play()
    assert (thread.status, thread.state["note"], len(answers.calls)) == ("succeeded", "without", 2)


def test_a_lost_worker_does_not_begin_the_count_anew() -> None:
    for n in range(1, 14):
        answers = Scripted(*[StatusError(503) for _ in range(9)])
        thread = Harness(caller(), tools={"look_up": answers}, stop_after=n).play()
        assert thread.status == "failed"
        # At worst one more: the last one's record was written, its consequence was not.
        assert [a.attempts for a in thread.activities] in ([5], [6]), n
        assert len(answers.calls) <= 6, n


@pytest.mark.requirement("A03")
def test_a_model_that_refuses_or_hangs_is_asked_again() -> None:
    graph = Graph("asker", Note)

    @graph.node(then=END)
    def ask(state: Note, ctx: Any) -> dict[str, str]:
        return {"note": ctx.model("Why?")}

    answers = [StatusError(429, Retry_After="30"), APITimeoutError(), "because"]
    thread = Harness(graph).play(model=answers)
    assert (thread.status, thread.state["note"]) == ("succeeded", "because")
    assert 30 <= slept(thread)[0] <= 31
    assert [(a.kind, a.attempts) for a in thread.activities] == [("model", 3)]


# ---- effects -------------------------------------------------------------------------------------


def pay_once(amount: int, *, key: str) -> str:
    raise NotImplementedError


def payer(**promise: Any) -> Graph:
    graph = Graph("payer", Note)
    pay = tool("pay", **promise)(pay_once)

    @graph.node(then=END)
    def act(state: Note, ctx: Any) -> dict[str, str]:
        return {"note": ctx.effect(pay, {"amount": 3}).result}

    return graph


@pytest.mark.parametrize(
    ("promise", "error", "status", "calls"),
    [
        ({"idempotent": True}, StatusError(503), "succeeded", 2),
        ({"idempotent": True}, TimeoutError(), "succeeded", 2),
        ({"idempotent": True}, Unsaid(), "failed", 1),
        ({"idempotent": True, "retry": Retry()}, Unsaid(), "succeeded", 2),
        ({}, StatusError(429), "succeeded", 2),
        ({}, ConnectionRefusedError(), "succeeded", 2),
        ({}, Unsaid(), "failed", 1),
        ({"retry": Retry()}, Unsaid(), "succeeded", 2),
        ({}, TimeoutError("slow"), "attention", 1),
        ({"retry": Retry()}, StatusError(500), "attention", 1),
    ],
)
def test_an_effect_is_repeated_only_where_twice_does_no_harm(
    promise: dict[str, Any], error: Exception, status: str, calls: int
) -> None:
    answers = Scripted(error, "paid")
    thread = Harness(payer(**promise), tools={"pay": answers}).play()
    assert (thread.status, len(answers.calls)) == (status, calls)
    keys = {call[1]["key"] for call in answers.calls}
    assert len(keys) == 1
    (effect,) = thread.effects
    assert effect.attempts == calls
    if status == "attention":
        assert effect.state == "unknown"
        assert "Whether 'pay' happened is unknown" in thread.reason
        assert "does not promise to be repeatable" in thread.reason


# ---- together ------------------------------------------------------------------------------------


def test_threads_leave_a_crowded_service_in_peace_together() -> None:
    answers = Scripted(StatusError(429, Retry_After="60"), *["found"] * 5)
    harness = Harness(caller(), tools={"look_up": answers})
    random.seed(1)
    first = harness.play()
    assert first.status == "succeeded"  # the clock of the bench went on by a minute meanwhile

    harness = Harness(caller(), tools={"look_up": Scripted("found")})
    # Another worker has just been told to come back in a minute.
    plays = harness.plays
    plays.call(hold_off, plays.workspace, "look_up", seconds=60, text="answered 429")
    second = harness.play()
    assert (second.status, second.state["note"]) == ("succeeded", "found")
    (seconds,) = slept(second)
    assert 59 < seconds <= 60 + 6
    (reason,) = [e.data["reason"] for e in second.events if e.kind == "thread.slept"]
    assert reason == "look_up answered 429; waits with all others"
    assert "activity.failed" not in second.kinds
    assert [a.attempts for a in second.activities] == [1]
