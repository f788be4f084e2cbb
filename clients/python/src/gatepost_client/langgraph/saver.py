"""Checkpoint savers of LangGraph that keep a graph's threads at Gatepost."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Collection, Iterable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any, TypeVar

from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple

from ..wire.errors import NotConfigured
from ..wire.flow import Flow
from ..wire.settings import Settings
from ..wire.transports import Awaiting, Blocking
from . import tuples
from .maintenance import Maintenance
from .operations import Chosen
from .serializer import JsonSerializer

T = TypeVar("T")
Config = Any  # RunnableConfig of LangChain
AGENT = "langgraph"
TOGETHER = 50  # checkpoints of a list that are made together


class GatepostSaver(BaseCheckpointSaver[int]):
    """Keeps the threads of a graph at Gatepost, under a lease while the graph works on them.

    `agent` is the name that the board shows. `types` are classes of yours that may stand in the
    state (see `JsonSerializer`). `searchable` names up to eight channels by whose values people
    find its threads; these hold plain JSON. Address and token come from the environment as for
    `@agent`, or from `settings`.
    """

    def __init__(
        self,
        agent: str = AGENT,
        *,
        types: Iterable[type] = (),
        searchable: Sequence[str] = (),
        settings: Settings | None = None,
    ) -> None:
        super().__init__(serde=JsonSerializer(types))
        self._configured = settings
        self._transport: Blocking | None = None
        self._lock = threading.Lock()
        self.operations = Maintenance(agent, self._settings, self.serde, searchable)

    def _settings(self) -> Settings:
        if self._configured is None:
            self._configured = Settings.from_environment()
        return self._configured

    @property
    def transport(self) -> Blocking:
        """The connection to Gatepost; a thread beside it prolongs the leases."""
        with self._lock:
            if self._transport is None:
                settings = self._settings()
                self._transport = Blocking(settings.url, settings.headers)
                keeping = (self.operations.keep_leases(),)
                keeper = threading.Thread(
                    target=self._transport.perform, args=keeping, daemon=True, name="gatepost"
                )
                keeper.start()
            return self._transport

    def perform(self, flow: Flow[T]) -> T:
        """Perform a flow with blocking calls."""
        return self.transport.perform(flow)

    def close(self) -> None:
        """Leave all threads and close the connection; leases would expire by themselves."""
        with self._lock:
            transport, self._transport = self._transport, None
        if transport is not None:
            with transport:
                transport.perform(self.operations.leave_all())

    def __enter__(self) -> GatepostSaver:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def with_allowlist(self, extra_allowlist: Collection[tuple[str, ...]]) -> GatepostSaver:
        """The saver itself: its serializer imports nothing that is named."""
        return self

    def get_next_version(self, current: Any, channel: None) -> Any:
        """The version after this one; checkpoints of LangGraph's own savers have texts there."""
        if not isinstance(current, str):
            return super().get_next_version(current, channel)
        number, _, rest = current.partition(".")
        return f"{int(number) + 1:032}.{rest or '0'}"

    # ---- what LangGraph calls --------------------------------------------------------------------

    def get_tuple(self, config: Config) -> CheckpointTuple | None:
        """Read the checkpoint that a config names, else the newest."""
        return self.perform(self.operations.get_tuple(config))

    def list(
        self,
        config: Config | None,
        *,
        filter: dict[str, Any] | None = None,
        before: Config | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        """List checkpoints, newest first."""
        yield from self._made(self.perform(self.operations.select(config, filter, before, limit)))

    def _made(self, chosen: Sequence[Chosen]) -> Iterator[CheckpointTuple]:
        for start in range(0, len(chosen), TOGETHER):
            some = chosen[start : start + TOGETHER]
            for leased in dict.fromkeys(leased.name for leased, _ in some):
                points = [point for owner, point in some if owner.name == leased]
                self.operations.leased(leased).record.prepare(points)
            for owner, point in some:
                yield tuples.tuple_of(self.operations.serde, owner.name, owner.record, point)

    def put(
        self, config: Config, checkpoint: Any, metadata: Any, new_versions: Mapping[str, Any]
    ) -> Config:
        """Commit a checkpoint; raises Outdated where somebody else has gone on meanwhile."""
        return self.perform(self.operations.put(config, checkpoint, metadata))

    def put_writes(
        self, config: Config, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Record what a task wrote."""
        self.perform(self.operations.put_writes(config, writes, task_id, task_path))

    def get_delta_channel_history(
        self, *, config: Config, channels: Sequence[str]
    ) -> Mapping[str, Any]:
        """Read the writes that lead to the value of delta channels, and where they begin."""
        return self.perform(self.operations.history(config, channels))

    def delete_thread(self, thread_id: str) -> None:
        """Hide a thread's checkpoints from LangGraph and request their erasure at Gatepost.

        A second person approves it there. With a token without the scope `erase` they are hidden
        only, and the log says so.
        """
        self.perform(self.operations.delete_thread(thread_id))

    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Hide the checkpoints of these runs, in all threads of the agent."""
        self.perform(self.operations.delete_for_runs(run_ids))

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copy all checkpoints and writes of a thread to another one."""
        self.perform(self.operations.copy_thread(source_thread_id, target_thread_id))

    def prune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Hide all but the newest checkpoints, and what these are rebuilt from."""
        self.perform(self.operations.prune(thread_ids, strategy))

    # ---- the same in an event loop, by threads ---------------------------------------------------

    async def aperform(self, flow: Flow[T]) -> T:
        """Perform a flow without blocking the event loop."""
        return await asyncio.to_thread(self.perform, flow)

    async def aget_tuple(self, config: Config) -> CheckpointTuple | None:
        """As `get_tuple`."""
        return await self.aperform(self.operations.get_tuple(config))

    async def alist(
        self,
        config: Config | None,
        *,
        filter: dict[str, Any] | None = None,
        before: Config | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        """As `list`."""
        selected = self.operations.select(config, filter, before, limit)
        for made in self._made(await self.aperform(selected)):
            yield made

    async def aput(
        self, config: Config, checkpoint: Any, metadata: Any, new_versions: Mapping[str, Any]
    ) -> Config:
        """As `put`."""
        return await self.aperform(self.operations.put(config, checkpoint, metadata))

    async def aput_writes(
        self, config: Config, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """As `put_writes`."""
        await self.aperform(self.operations.put_writes(config, writes, task_id, task_path))

    async def aget_delta_channel_history(
        self, *, config: Config, channels: Sequence[str]
    ) -> Mapping[str, Any]:
        """As `get_delta_channel_history`."""
        return await self.aperform(self.operations.history(config, channels))

    async def adelete_thread(self, thread_id: str) -> None:
        """As `delete_thread`."""
        await self.aperform(self.operations.delete_thread(thread_id))

    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        """As `delete_for_runs`."""
        await self.aperform(self.operations.delete_for_runs(run_ids))

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """As `copy_thread`."""
        await self.aperform(self.operations.copy_thread(source_thread_id, target_thread_id))

    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """As `prune`."""
        await self.aperform(self.operations.prune(thread_ids, strategy))


class AsyncGatepostSaver(GatepostSaver):
    """The same with calls that are awaited in the event loop, for graphs that are only `async`."""

    def __init__(
        self,
        agent: str = AGENT,
        *,
        types: Iterable[type] = (),
        searchable: Sequence[str] = (),
        settings: Settings | None = None,
    ) -> None:
        super().__init__(agent, types=types, searchable=searchable, settings=settings)
        self._awaiting: Awaiting | None = None
        self._keeper: asyncio.Task[None] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    def perform(self, flow: Flow[T]) -> T:
        """Perform a flow in the event loop that has awaited this saver, from another thread."""
        try:
            running = asyncio.get_running_loop()
        except RuntimeError:
            running = None
        if self._loop is None or running is not None:
            raise NotConfigured(
                "AsyncGatepostSaver serves ainvoke and astream; take GatepostSaver."
            )
        return asyncio.run_coroutine_threadsafe(self.aperform(flow), self._loop).result()

    async def aperform(self, flow: Flow[T]) -> T:
        """Perform a flow in the event loop that calls it."""
        if self._awaiting is None:
            self._loop = asyncio.get_running_loop()
            settings = self._settings()
            self._awaiting = Awaiting(settings.url, settings.headers)
            self._keeper = asyncio.create_task(
                self._awaiting.perform(self.operations.keep_leases())
            )
        return await self._awaiting.perform(flow)

    async def aclose(self) -> None:
        """As `close`."""
        if self._awaiting is None or self._keeper is None:
            return
        await self._awaiting.perform(self.operations.leave_all())
        self._keeper.cancel()
        await self._awaiting.close()
        self._awaiting = self._keeper = self._loop = None

    async def __aenter__(self) -> AsyncGatepostSaver:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.aclose()
