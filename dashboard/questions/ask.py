"""Ask the record: a question over a thread, an agent, a time or the workspace, in sentences.

Each sentence is linked to the event that it rests on. What the record does not answer is said to be
not in it. A few events are read for an answer, found by an index, whatever the length of the log.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Final, Literal
from urllib.parse import urlencode
from uuid import UUID

from django.urls import reverse
from pydantic import Field

from checkpoints import queries, store
from checkpoints.addresses import thread_address
from checkpoints.limits import AGENT_MAX
from checkpoints.queries.history import passages
from checkpoints.queries.history.passages import Scope
from checkpoints.states import WorkspaceEventKind
from dashboard.documents.state_shape import Shape
from dashboard.errors import Invalid
from dashboard.identity.people import people
from dashboard.identity.permissions import Actor
from dashboard.kit.action import Action
from dashboard.kit.shapes.requests import RequestShape
from dashboard.kit.shapes.texts import Id, NotBlank, Time

from .extraction import Sentence, extract
from .parsed_question import parse_question

QUESTION_MAX: Final = 500
READ_MAX: Final = 60  # events that are read for an answer
CATCH_UP_SECONDS: Final = 0.3  # for events that are not in the index yet
INCOMPLETE: Final = "The index is being made, so events were missing. Ask again later."


class AskRecord(RequestShape):
    """A question to the record, and what of it is searched; without a scope the workspace."""

    question: Annotated[str, NotBlank(QUESTION_MAX)] = Field(
        description="In English, such as “Who approved the payment?”."
    )
    thread: Id | None = Field(None, description="Only this thread.")
    agent: Annotated[str, Field(max_length=AGENT_MAX)] = Field(
        "", description="Only threads of this agent."
    )
    since: Time | None = Field(None, description="Only events from this time on.")
    until: Time | None = Field(None, description="Only events until this time.")


class AnswerSentence(Shape):
    """A sentence of an answer, and the event that it rests on; `address` is that of its page."""

    text: str
    thread: UUID
    seq: int
    kind: str
    at: datetime
    agent: str
    title: str
    address: str


class RecordAnswer(Shape):
    """Sentences from the record, or none.

    `sentences` is empty where the answer is not in the record; `missing` then has words of the
    question, without endings, that no event had. `read` is how many events were read. `complete` is
    false while the index is being made: what is not found may be there, ask again later. `log` is
    the address of all events that the question is about.
    """

    id: UUID = Field(description="The question's id in the workspace's log.")
    question: str
    in_record: bool
    sentences: list[AnswerSentence]
    missing: list[str]
    method: Literal["extraction"]
    read: int
    complete: bool
    log: str


def ask_record(actor: Actor, wanted: AskRecord) -> RecordAnswer:
    """Answer a question from the record, and put both on record.

    1. Find the thread, if one is named; raises Missing.
    2. Add to the index what is new, then find the events that have the question's words.
    3. Extract sentences from them.
    4. Record question and answer.
    """
    if wanted.thread is not None:
        queries.thread(wanted.thread, workspace=actor.workspace)
    if wanted.since and wanted.until and wanted.since > wanted.until:
        raise Invalid("$.until", "is before `since`")
    parsed = parse_question(wanted.question)
    store.index_history(seconds=CATCH_UP_SECONDS)
    scope = Scope(
        actor.workspace,
        thread=wanted.thread,
        agent=wanted.agent,
        since=wanted.since,
        until=wanted.until,
    )
    matches = passages.find(parsed.search, scope, limit=READ_MAX)
    names = people(passage.actor for passage in matches.passages if not passage.imported)
    result = extract(parsed, matches.passages, names)
    sentences = [_sentence(one) for one in result.sentences]
    answer: dict[str, Any] = {
        "sentences": [_recorded(one) for one in sentences],
        "missing": [*result.missing],
        "complete": matches.complete,
    }
    threads = {one.thread for one in sentences} | ({wanted.thread} if wanted.thread else set())
    ident = store.record_question(
        actor.workspace,
        question=wanted.question,
        scope=_scope(wanted),
        answer=answer,
        sources=[(one.thread, one.seq) for one in sentences],
        threads=threads,
        actor=actor.id,
    )
    return RecordAnswer(
        id=ident,
        question=wanted.question,
        in_record=bool(sentences),
        sentences=sentences,
        missing=[*result.missing],
        method="extraction",
        read=len(matches.passages),
        complete=matches.complete,
        log=log_address(wanted),
    )


def log_address(wanted: AskRecord) -> str:
    """The address of all events that a question is about."""
    if wanted.thread is not None:
        return thread_address(wanted.thread)
    values = {"agent": wanted.agent, "since": wanted.since, "until": wanted.until}
    named = {
        name: value if isinstance(value, str) else value.isoformat()
        for name, value in values.items()
        if value
    }
    return f"{reverse('api:records')}?{urlencode({**named, 'kind': 'all'})}"


def _sentence(sentence: Sentence) -> AnswerSentence:
    passage = sentence.passage
    return AnswerSentence(
        text=sentence.text,
        thread=passage.thread,
        seq=passage.seq,
        kind=passage.kind,
        at=passage.at,
        agent=passage.agent,
        title=passage.title,
        address=thread_address(passage.thread, event=passage.seq),
    )


def _recorded(sentence: AnswerSentence) -> dict[str, Any]:
    return {"text": sentence.text, "thread": str(sentence.thread), "seq": sentence.seq}


def _scope(wanted: AskRecord) -> dict[str, str]:
    values = wanted.model_dump(mode="json", exclude={"question"}, exclude_none=True)
    return {name: str(value) for name, value in values.items() if value}


def _done(_: AskRecord, answer: RecordAnswer) -> str:
    words = f"{answer.read} events were read. All of them: {answer.log}"
    if not answer.complete:
        return f"{INCOMPLETE} {words}"
    return words if answer.in_record else f"This is not in the record. {words}"


ASK_RECORD: Final = Action(
    name="record.ask",
    right="read",
    takes=AskRecord,
    answers=RecordAnswer,
    perform=ask_record,
    events=(WorkspaceEventKind.RECORD_ASKED,),
    summary="Ask the record in a sentence",
    description="Answers by extraction: sentences and values of a few events that have every word "
    "of the question, each with the event that it rests on. `in_record` is false where none has. "
    "Encrypted channels are never searched. Question and answer are on record.",
    help="answers a question from the record, with the events that the answer rests on",
    done=_done,
    call_id="records_ask",
    arguments={"question": ["question"]},
    examples='record ask "Who approved the payment?" --agent payments\n'
    'record ask "Why was invoice RE 115 set aside?" --thread 0198c5f2-6d1e-7a30-9b51-4f0b5a3c2d10',
)
