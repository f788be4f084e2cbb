"""The chat about packages: passages word for word, a model's answer where there is one."""

from __future__ import annotations

from importlib import metadata
from pathlib import Path

import pytest

from gatepost import Harness, Reply
from gatepost_agents.docs_chat.agent import NO_MODEL, NOTHING, graph
from workers.authoring.language_models import Request

pytestmark = [pytest.mark.django_db, pytest.mark.requirement("A14")]
QUESTION = "How does celery retry a task?"


@pytest.mark.slow
def test_without_a_model_it_quotes_what_the_packages_say() -> None:
    thread = Harness(graph).play({"question": QUESTION})
    assert thread.status == "succeeded", thread
    question, answered = thread.state["messages"]
    assert question == {"role": "user", "content": QUESTION}
    assert answered["content"].startswith(NO_MODEL)
    best = thread.state["passages"][0]
    path = Path(str(metadata.distribution(best["package"]).locate_file(best["file"])))
    lines = path.read_text().split("\n")[best["line"] - 1 : best["end"]]
    assert "\n".join(lines) == best["text"]
    assert best["text"] in answered["content"]
    assert best["package"] == "celery"


def test_what_no_package_says_is_not_made_up() -> None:
    thread = Harness(graph).play({"question": "celery zzqx"})
    assert thread.state["messages"][-1]["content"] == NOTHING or thread.state["passages"]
    thread = Harness(graph).play({})
    assert (thread.status, thread.state["messages"]) == ("succeeded", [])


def test_a_model_is_given_the_conversation_and_the_passages() -> None:
    requests: list[Request] = []

    def model(request: Request) -> Reply:
        requests.append(request)
        return Reply("By calling self.retry [1].", "m-1", 9, 9)

    thread = Harness(graph).play({"question": QUESTION}, model=model)
    assert thread.state["messages"][-1]["content"] == "By calling self.retry [1]."
    assert thread.state["passages"][0]["text"] in requests[0].system
    assert requests[0].chat[-1]["content"] == QUESTION
