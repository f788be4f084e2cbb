"""The checkpointer of one superstep: in memory, with a journal that outlives the process."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    WRITES_IDX_MAP,
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
)

from gatepost_client.langgraph import JsonSerializer

ROOT = ""
ERROR = "__error__"
Json = dict[str, Any]
Writes = dict[tuple[str, int], tuple[str, str, Any]]


class StepSaver(BaseCheckpointSaver[int]):
    """Holds the checkpoint at which the superstep begins and what its tasks have written since.

    `append` adds an entry to the journal: the writes of a task that finished or waits for people,
    or a checkpoint of a subgraph. `load` reads the entries of an earlier attempt. `result` is the
    checkpoint after the superstep, None until it has ended.
    """

    def __init__(self, serde: JsonSerializer, append: Callable[[Json], None]) -> None:
        super().__init__(serde=serde)
        self._json = serde
        self._append = append
        self._tuples: dict[str, tuple[Checkpoint, CheckpointMetadata]] = {}
        self._writes: dict[tuple[str, str], Writes] = {}
        self._journaled: dict[tuple[str, str, str], Any] = {}
        self.result: Checkpoint | None = None

    def begin(self, checkpoint: Checkpoint, step: int) -> None:
        """Set where the superstep begins."""
        self._tuples[ROOT] = (checkpoint, {"source": "loop", "step": step, "parents": {}})

    def load(self, entries: Sequence[Json]) -> None:
        """Read the journal of an earlier attempt at this superstep."""
        for entry in entries:
            if "checkpoint" in entry:
                content = self._json.decode(entry["checkpoint"])
                self._tuples[entry["ns"]] = (content["checkpoint"], content["metadata"])
            else:
                at = (entry["ns"], entry["id"])
                self._journaled[*at, entry["task"]] = entry["writes"]
                self._add(at, entry["task"], self._json.decode(entry["writes"]))

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Return the newest checkpoint of a namespace with its pending writes."""
        ns = config["configurable"].get("checkpoint_ns", ROOT)
        if ns not in self._tuples:
            return None
        checkpoint, metadata = self._tuples[ns]
        writes = self._writes.get((ns, checkpoint["id"]), {})
        own = _config(config, ns, checkpoint["id"])
        # LangGraph changes these in place.
        copied: Any = {
            **checkpoint,
            "channel_values": dict(checkpoint["channel_values"]),
            "channel_versions": dict(checkpoint["channel_versions"]),
            "versions_seen": {n: dict(seen) for n, seen in checkpoint["versions_seen"].items()},
        }
        pending = [writes[at] for at in sorted(writes)]
        return CheckpointTuple(own, copied, metadata, None, pending)

    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: Json | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        """Return the newest checkpoint only: earlier ones are checkpoints of the thread."""
        newest = None if config is None else self.get_tuple(config)
        return iter(() if newest is None else (newest,))

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Save a checkpoint: the result, or the state of a subgraph, which goes to the journal."""
        ns = config["configurable"].get("checkpoint_ns", ROOT)
        if ns != ROOT:
            content = self._json.encode({"checkpoint": checkpoint, "metadata": metadata}, ns)
            self._append({"ns": ns, "checkpoint": content})
        elif metadata["source"] == "loop":
            self.result = checkpoint
        self._tuples[ns] = (checkpoint, metadata)
        return _config(config, ns, checkpoint["id"])

    def put_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        """Save the writes of a task; those of one that failed stay out of the journal."""
        configurable = config["configurable"]
        at = (configurable.get("checkpoint_ns", ROOT), configurable["checkpoint_id"])
        if any(channel.startswith(ERROR) for channel, _ in writes):
            self._add(at, task_id, writes)
            return
        encoded = [[channel, self._json.encode(value, channel)] for channel, value in writes]
        # A task that waits writes the same interrupt again with every attempt.
        if self._journaled.get((*at, task_id)) != encoded:
            self._journaled[*at, task_id] = encoded
            self._append({"ns": at[0], "id": at[1], "task": task_id, "writes": encoded})
        self._add(at, task_id, writes)

    def _add(self, at: tuple[str, str], task: str, writes: Sequence[Any]) -> None:
        written = self._writes.setdefault(at, {})
        for number, (channel, value) in enumerate(writes):
            written[task, WRITES_IDX_MAP.get(channel, number)] = (task, channel, value)

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Do as `get_tuple`, for subgraphs that run in an event loop."""
        return self.get_tuple(config)

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Do as `put`."""
        return self.put(config, checkpoint, metadata, new_versions)

    async def aput_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        """Do as `put_writes`."""
        self.put_writes(config, writes, task_id, task_path)


def _config(config: Mapping[str, Any], ns: str, ident: str) -> RunnableConfig:
    thread = config["configurable"]["thread_id"]
    return {"configurable": {"thread_id": thread, "checkpoint_ns": ns, "checkpoint_id": ident}}
