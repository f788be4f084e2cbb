"""A compiled graph under control: started or resumed by name, stopped for people, ended."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from langgraph.errors import is_invalid_resume
from langgraph.types import Command

from ..record.values import recordable
from ..wire import api
from ..wire.errors import ClientError, NotConfigured, Stop, Waiting
from ..wire.flow import Flow, Sleep
from .announcements import announced
from .interrupts import InterruptRequests, requests_of
from .leased_thread import LeasedThread, Outdated, Taken, lease_lost
from .record import RESERVED, ROOT
from .reports import alone
from .saver import GatepostSaver

T = TypeVar("T")
Json = dict[str, Any]
logger = logging.getLogger("gatepost_client")
AT_ONCE = 20  # requests in one call
LOOK_AGAIN_SECONDS = 5.0
PAUSED = "A person asked for a pause."
STOPPED = "A breaker stops it."


def run(
    graph: Any,
    input: Any = None,
    *,
    thread: str,
    config: Mapping[str, Any] | None = None,
    wait: bool | float | None = None,
) -> Any:
    """Start a graph's thread or continue the one of that name; answers the values at its end.

    The graph is compiled with a GatepostSaver. Interrupts become requests to people; the graph
    continues when they have answered, in this process or in the one that is started next. `wait` as
    for `@agent`: False leaves with exit code 75 while people decide. Raises Rejected and Expired
    for a question that nobody answered, LeaseLost and Cancelled.
    """
    saver = _saver_of(graph)
    work = _Work(graph, saver, saver.operations.leased(thread), config or {}, wait)
    return work.start(input)


def serve(graph: Any, *, config: Mapping[str, Any] | None = None, once: bool = False) -> None:
    """Work on every queued thread of the graph's agent: new ones, decided ones, forks, retries.

    `once` returns when no thread is queued.
    """
    saver = _saver_of(graph)
    while True:
        queued = saver.perform(api.list_queued(saver.operations.agent))
        for row in queued:
            leased = saver.operations.leased(row["name"] or row["id"])
            try:
                _Work(graph, saver, leased, config or {}, wait=False).resume()
            except Waiting:
                continue  # it says so itself
            except (Stop, ClientError) as stop:
                logger.warning("%s: %s", row["id"], stop)
            except Exception:
                logger.exception("%s failed", row["id"])
        if not queued:
            if once:
                return
            saver.perform(_sleep(LOOK_AGAIN_SECONDS))


def _sleep(seconds: float) -> Flow[None]:
    yield Sleep(seconds)


def _saver_of(graph: Any) -> GatepostSaver:
    saver = getattr(graph, "checkpointer", None)
    if not isinstance(saver, GatepostSaver):
        raise NotConfigured("Compile the graph with checkpointer=GatepostSaver().")
    return saver


class _Work:
    """One graph at work on one thread."""

    def __init__(
        self,
        graph: Any,
        saver: GatepostSaver,
        leased: LeasedThread,
        config: Mapping[str, Any],
        wait: bool | float | None,
    ) -> None:
        self.graph = graph
        self.saver = saver
        self.leased = leased
        self.is_singly = False
        if wait is not None:
            leased.settings = replace(leased.settings, wait=wait)
        configurable = {**config.get("configurable", {}), "thread_id": leased.name}
        self.config = {**config, "configurable": configurable}

    def start(self, input: Any) -> Any:
        """Start the thread, or find it, and work on it to its end."""
        operations = self.saver.operations
        operations.announced = announced(self.graph, operations.searchable)
        values = {} if input is None else operations.serde.encode(input, "input")
        if not isinstance(values, dict):
            raise NotConfigured("The input of a graph is a dict of its channels.")
        body = {
            "agent": operations.agent,
            "name": self.leased.name,
            "input": recordable(values, "The input"),
            "external": operations.announced,
        }
        started = self._perform(api.start_thread(body))
        self._alone(self.leased.find())
        if started["status"] == "succeeded":
            return self.graph.get_state(self.config).values
        return self.resume()

    def resume(self) -> Any:
        """Work on the thread until it ends."""
        leased = self.leased
        leased.is_held = True
        try:
            self._alone(self._take())
            return self._work()
        except (Taken, Outdated) as error:
            raise lease_lost(error) from error
        finally:
            leased.is_held = False
            if leased.under.token:
                leased.settle(0, "The process stopped.")

    def _perform(self, flow: Flow[T]) -> T:
        return self.saver.perform(flow)

    def _alone(self, flow: Flow[T]) -> T:
        return self._perform(alone(self.leased, flow))

    def _take(self) -> Flow[None]:
        if self.leased.under.token:
            return
        yield from self.leased.find()
        lease = yield from self.leased.wait_for_turn()
        self.leased.hold(lease)
        yield from self.leased.read_pages()

    def _work(self) -> Any:
        leased = self.leased
        try:
            value: Any = self._first_input()
            errors: dict[str, str] = {}
            while True:
                try:
                    is_paused = self._advance(value)
                except ValueError as error:
                    if not is_invalid_resume(error):
                        raise
                    # Which answer it was shows when they are sent one at a time.
                    self.is_singly = True
                    if len(value.resume) == 1:
                        errors |= {ident: str(error) for ident in value.resume}
                    is_paused = False
                if is_paused:
                    is_stopped = leased.now.get("wish") == "stop"
                    left = ("queued", STOPPED) if is_stopped else ("paused", PAUSED)
                    self._alone(leased.leave(*left))
                    self._alone(self._take())
                    value = None
                    continue
                snapshot = self.graph.get_state(self.config)
                if not (requests := self._open_requests(snapshot, errors)):
                    if snapshot.next:
                        value = None
                        continue
                    self._alone(leased.leave("succeeded"))
                    return snapshot.values
                value = self._answers(requests)
        except (Stop, Taken, Outdated):
            raise
        except Exception as error:
            self._alone(leased.leave("failed", f"{type(error).__name__}: {error}"))
            raise
        except BaseException:  # Ctrl-C, sys.exit: somebody else may continue
            self._alone(leased.leave("queued", "The process was stopped."))
            raise

    def _first_input(self) -> Any:
        """The value that the graph begins with: its input, where it has no checkpoint yet."""
        record = self.leased.record
        if record.latest(ROOT) is not None:
            return None
        state = record.state((ROOT, record.head))
        values = {name: value for name, value in state.items() if name not in RESERVED}
        return self.saver.operations.serde.decode(values)

    def _advance(self, value: Any) -> bool:
        """Let the graph work until it stops; whether a person or a breaker asked for that."""
        record = self.leased.record
        if value is None and record.latest(ROOT) is not None:
            snapshot = self.graph.get_state(self.config)
            if snapshot.interrupts or not snapshot.next:
                return False
        stops = [name] if (name := self.leased.now.get("pause_at")) in self.graph.nodes else None
        steps = self.graph.stream(
            value, self.config, stream_mode="values", durability="sync", interrupt_before=stops
        )
        for _ in steps:
            if self.leased.now.get("wish") in ("pause", "stop"):
                steps.close()
                return True
        return bool(stops and name in self.graph.get_state(self.config).next)

    def _open_requests(self, snapshot: Any, errors: Mapping[str, str]) -> list[InterruptRequests]:
        """The requests of the open interrupts, in the order of their tasks."""
        serde = self.saver.operations.serde
        return [
            requests_of(
                serde, task.name, one.id, one.value, one.response_schema, errors.get(one.id, "")
            )
            for task in snapshot.tasks
            for one in task.interrupts
        ]

    def _answers(self, requests: Sequence[InterruptRequests]) -> Any:
        """Ask people everything together and wait for it; None where the past changed meanwhile."""
        queries = [query for one in requests for query in one.queries]
        answers: dict[str, Json] = {}
        head = self.leased.record.head
        while queries:
            result = self._alone(self.leased.report(self.leased.under.ask_all(queries[:AT_ONCE])))
            if result["do"] == "answer":
                answers |= {answer["key"]: answer for answer in result["answers"]}
                queries = queries[AT_ONCE:]
                continue
            self.leased.under.token = ""
            self._alone(self._take())
            if self.leased.record.head != head:
                return None
        resumed = requests[:1] if self.is_singly else requests
        return Command(resume={one.id: one.answer(answers) for one in resumed})
