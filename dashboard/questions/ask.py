"""Ask the record: a question over a thread, an agent, a time or the workspace, in sentences.

Each sentence is linked to the event that it rests on. What the record does not answer is said to be
not in it. A few events are read for an answer, found by an index, whatever the length of the log.
Where the settings name a model, who asks may have it write the answer from some of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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
from checkpoints.queries.history.passages import Passage, Scope
from checkpoints.states import WorkspaceEventKind
from dashboard.documents.state_shape import Shape
from dashboard.errors import Invalid
from dashboard.identity.people import people
from dashboard.identity.permissions import Actor
from dashboard.kit.action import Action
from dashboard.kit.shapes.requests import RequestShape
from dashboard.kit.shapes.texts import Id, NotBlank, Time
from dashboard.wording.savings import counted

from . import generation
from .extraction import Sentence, extract
from .generation import Generated, NotGenerated, Prepared
from .parsed_question import ParsedQuestion, parse_question

QUESTION_MAX: Final = 500
READ_MAX: Final = 60  # events that are read for an answer
CATCH_UP_SECONDS: Final = 0.3  # for events that are not in the index yet
INCOMPLETE: Final = "The index is being made, so events were missing. Ask again later."
NONE_LEFT: Final = "No sentence of the model had a source in the record."
NOTHING_WRITTEN: Final = "The model found no answer in the passages that it was sent."
NO_MODEL: Final = f"is not possible: {generation.SETTING} names no model"


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
    generate: bool = Field(
        False,
        description="Let the model write the answer, from up to "
        f"{generation.PASSAGES_MAX} of the events. They are sent to it.",
    )


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


class AnswerEstimate(Shape):
    """The most that an answer by the model takes, and of how many events it is sent passages.

    `cost` is in dollars, null where the model's price is not known.
    """

    model: str
    passages: int
    tokens: int
    cost: str | None


class AnswerUsage(Shape):
    """The tokens that an answer by the model took, and of how many events it was sent passages.

    `cost` is in dollars, null where the model's price is not known or it gave no answer.
    """

    model: str
    passages: int
    tokens_in: int
    tokens_out: int
    cost: str | None


class RecordAnswer(Shape):
    """Sentences from the record, or none.

    `sentences` is empty where the answer is not in the record; `missing` then has words of the
    question, without endings, that no event had. `read` is how many events were read. `complete` is
    false while the index is being made: what is not found may be there, ask again later. `log` is
    the address of all events that the question is about. `estimate` is there where a model could
    write the answer, `usage` once it was asked to. `struck` are its sentences without a source;
    `fallback` says why the answer is an extraction all the same.
    """

    id: UUID = Field(description="The question's id in the workspace's log.")
    question: str
    in_record: bool
    sentences: list[AnswerSentence]
    missing: list[str]
    method: Literal["extraction", "generation"]
    read: int
    complete: bool
    estimate: AnswerEstimate | None
    usage: AnswerUsage | None
    struck: list[str]
    fallback: str
    log: str


@dataclass(frozen=True, slots=True)
class _ByModel:
    """The model's part in an answer: what it may take, what it took, what it wrote."""

    prepared: Prepared | None = None
    usage: AnswerUsage | None = None
    generated: Generated | None = None
    fallback: str = ""

    @property
    def estimate(self) -> AnswerEstimate | None:
        if (one := self.prepared) is None:
            return None
        cost = None if one.cost is None else f"{one.cost:f}"
        return AnswerEstimate(
            model=one.model, passages=len(one.passages), tokens=one.tokens, cost=cost
        )


def ask_record(actor: Actor, wanted: AskRecord) -> RecordAnswer:
    """Answer a question from the record, and put both on record.

    1. Find the thread, if one is named; raises Missing.
    2. Add to the index what is new, then find the events that have the question's words.
    3. Extract sentences from them.
    4. Where there are some, compute what the model would take, and ask it if that is wanted.
    5. Record question and answer.
    """
    if wanted.generate and not generation.is_configured():
        raise Invalid("$.generate", NO_MODEL)
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
    model = _by_model(wanted, parsed, result.sentences, matches.passages, names)
    chosen = model.generated.sentences if model.generated else ()
    sentences = [_sentence(one) for one in chosen or result.sentences]
    struck = [*model.generated.struck] if model.generated else []
    answer: dict[str, Any] = {
        "sentences": [_recorded(one) for one in sentences],
        "missing": [*result.missing],
        "complete": matches.complete,
        **({"estimate": model.estimate.model_dump()} if model.estimate else {}),
        **({"usage": model.usage.model_dump()} if model.usage else {}),
        **({"struck": struck} if struck else {}),
        **({"fallback": model.fallback} if model.fallback else {}),
    }
    threads = {one.thread for one in sentences} | ({wanted.thread} if wanted.thread else set())
    if struck and model.prepared:  # they may have words of any passage
        threads |= {passage.thread for passage in model.prepared.passages}
    ident = store.record_question(
        actor.workspace,
        question=wanted.question,
        scope=_scope(wanted),
        answer=answer,
        sources=[(one.thread, one.seq) for one in sentences],
        threads=threads,
        usage=model.usage.model_dump() if model.usage else {},
        actor=actor.id,
    )
    return RecordAnswer(
        id=ident,
        question=wanted.question,
        in_record=bool(sentences),
        sentences=sentences,
        missing=[*result.missing],
        method="generation" if chosen else "extraction",
        read=len(matches.passages),
        complete=matches.complete,
        estimate=model.estimate,
        usage=model.usage,
        struck=struck,
        fallback=model.fallback,
        log=log_address(wanted),
    )


def _by_model(
    wanted: AskRecord,
    parsed: ParsedQuestion,
    extracted: Sequence[Sentence],
    passages: Sequence[Passage],
    people: Mapping[str, str],
) -> _ByModel:
    """Prepare a call of the model, and make it if it is wanted; none where nothing was found."""
    if not extracted or not generation.is_configured():
        return _ByModel()
    prepared: Prepared | None = None
    generated: Generated | None = None
    fallback, took = "", None
    try:
        prepared = generation.prepare(parsed, extracted, passages, people)
        if not wanted.generate:
            return _ByModel(prepared)
        generated = generation.generate(parsed, prepared)
        took = generated.usage
        if not generated.sentences:
            fallback = NONE_LEFT if generated.struck else NOTHING_WRITTEN
    except NotGenerated as error:
        fallback, took = str(error) if wanted.generate else "", error.usage
    usage = _usage(prepared, took or {}) if prepared else None
    return _ByModel(prepared, usage, generated, fallback)


def _usage(prepared: Prepared, took: Mapping[str, Any]) -> AnswerUsage:
    return AnswerUsage(
        model=took.get("model") or prepared.model,
        passages=len(prepared.passages),
        tokens_in=took.get("tokens_in", 0),
        tokens_out=took.get("tokens_out", 0),
        cost=took.get("cost"),
    )


def estimate_words(estimate: AnswerEstimate) -> str:
    """The most that the model would take, as part of a sentence."""
    return (
        f"passages of {counted(estimate.passages, 'event')}, "
        f"up to {counted(estimate.tokens, 'token')}, {_cost(estimate.cost, 'at most ')}"
    )


def usage_words(usage: AnswerUsage) -> str:
    """The tokens and the cost that the model took, as part of a sentence."""
    return (
        f"passages of {counted(usage.passages, 'event')}, {counted(usage.tokens_in, 'token')} in, "
        f"{counted(usage.tokens_out, 'token')} out, {_cost(usage.cost)}"
    )


def _cost(cost: str | None, most: str = "") -> str:
    return "price not known" if cost is None else f"{most}${cost}"


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
    values = wanted.model_dump(mode="json", exclude={"question", "generate"}, exclude_none=True)
    return {name: str(value) for name, value in values.items() if value}


def _done(_: AskRecord, answer: RecordAnswer) -> str:
    words = " ".join(
        (
            *([f"{answer.fallback} So these are sentences of the record."] * bool(answer.fallback)),
            *([f"The model took {usage_words(answer.usage)}."] if answer.usage else []),
            *([f"{len(answer.struck)} of its sentences had no source."] if answer.struck else []),
            f"{answer.read} events were read. All of them: {answer.log}",
        )
    )
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
    "Encrypted channels are never searched. Question and answer are on record. With `generate` a "
    "model writes the answer from up to "
    f"{generation.PASSAGES_MAX} of these events; `estimate` says before what that takes at most. "
    "Sentences without a source among them are struck out.",
    help="answers a question from the record, with the events that the answer rests on",
    done=_done,
    call_id="records_ask",
    keyed=False,
    arguments={"question": ["question"]},
    examples='record ask "Who approved the payment?" --agent payments\n'
    'record ask "Why was invoice RE 115 set aside?" --thread 0198c5f2-6d1e-7a30-9b51-4f0b5a3c2d10',
)
